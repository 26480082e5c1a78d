#include "analysis/lyman_alpha/lines_of_sight.hpp"

#include <algorithm>

#include "analysis/at.hpp"
#include "analysis/lyman_alpha/line_tile.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Layout;

constexpr int most_batches = 8;

Layout with_boxes(const Layout& grid, std::vector<Box> boxes, std::vector<std::int32_t> owners) {
  return {grid.domain(), grid.periodic(), std::move(boxes), std::move(owners), grid.level()};
}

// The lines of a tile, and their optical depths.
struct Room {
  std::vector<double> density, velocity, temperature, depth;
  SharedRoom work;

  explicit Room(int pixels)
      : density(static_cast<std::size_t>(LineTile::most_lines * pixels)),
        velocity(density.size()),
        temperature(density.size()),
        depth(density.size()) {}

  Sightline line(std::size_t first, std::size_t pixels) const {
    const auto part = [&](const std::vector<double>& all) { return std::span(all).subspan(first, pixels); };
    return {part(density), part(velocity), part(temperature)};
  }
};

void absorb(const Sightline& line, const LineScales& scales, Broadening broadening, SharedRoom& work,
            std::span<double> depth) {
  switch (broadening) {
    case Broadening::local:
      return local_optical_depth(line, scales, depth);
    case Broadening::full:
      return thermal_optical_depth(line, scales, work, depth);
    case Broadening::voigt:
      return voigt_optical_depth(line, scales, work, depth);
  }
}

}  // namespace

std::vector<Layout> line_batches(const Layout& grid, int ranks, int axis) {
  const int slow = axis == 2 ? 1 : 2, other = 3 - axis - slow;
  const mesh::Int3 cells = grid.domain().extent();
  mesh::Int3 parts{1, 1, 1};
  parts[slow] = std::min(most_batches, cells[slow]);
  const Layout slabs = split(grid.domain(), parts);
  std::vector<Layout> batches;
  for (const Box& slab : slabs.boxes()) {
    mesh::Int3 of_slab{1, 1, 1};
    of_slab[slow] = std::min(ranks, slab.extent()[slow]);
    of_slab[other] = std::min(ranks / of_slab[slow], cells[other]);
    const Layout pencils = split(slab, of_slab);
    batches.push_back(with_boxes(grid, {pencils.boxes().begin(), pencils.boxes().end()},
                                 {pencils.owners().begin(), pencils.owners().end()}));
  }
  return batches;
}

Layout joined(const std::vector<Layout>& batches) {
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (const Layout& batch : batches) {
    boxes.insert(boxes.end(), batch.boxes().begin(), batch.boxes().end());
    owners.insert(owners.end(), batch.owners().begin(), batch.owners().end());
  }
  return with_boxes(batches.front(), std::move(boxes), std::move(owners));
}

void LineCells::gather(const comm::Communicator& comm, const Absorbers& gas, int axis, const Layout& lines) {
  const redistribute::Redistribution plan(comm, gas.density.layout(), lines);
  const std::size_t size_bytes = mesh::Field<double>::size_bytes(lines, comm.rank());
  const auto moved = [&](const ScalarView& from, core::Workroom& room) {
    mesh::Field<double> to(lines, comm.rank(), 1, 0, room.bytes(size_bytes));
    plan.apply(from, to);
    return to;
  };
  density = moved(gas.density, rooms_[0]);
  velocity = moved(gas.velocity[at(axis)], rooms_[1]);
  temperature = moved(gas.temperature, rooms_[2]);
}

template <typename T>
bool find_depth(const LineCells& cells, const Absorbers& gas, int axis, Broadening broadening,
                mesh::FieldView<T> depth) {
  const LineScales& scales = gas.scales[at(axis)];
  const int pixels = gas.geometry.domain.extent()[axis];
  const auto length = static_cast<std::size_t>(pixels);
  Room room(pixels);
  bool all_physical = true;
  for (int b = 0; b < cells.density.blocks(); ++b) {
    const Box& box = cells.density.box(b);
    for_each_tile(box, axis, [&, to = depth.view_on(box)](const LineTile& tile) {
      tile.load(cells.density.view(b), room.density);
      tile.load(cells.velocity.view(b), room.velocity);
      tile.load(cells.temperature.view(b), room.temperature);
      for (std::size_t first = 0; first < tile.size(); first += length) {
        const Sightline line = room.line(first, length);
        const bool is_good = is_physical(line, scales, gas.most_pixels(axis));
        all_physical = all_physical && is_good;
        if (is_good) absorb(line, scales, broadening, room.work, std::span(room.depth).subspan(first, length));
      }
      tile.store(room.depth, to);
    });
  }
  return all_physical;
}

template <typename T>
mesh::Field<T> optical_depth(const comm::Communicator& comm, const Absorbers& gas, int axis, Broadening broadening) {
  const std::vector<Layout> batches = line_batches(gas.density.layout(), comm.size(), axis);
  mesh::Field<T> depth(joined(batches), comm.rank());
  LineCells cells;
  bool all_physical = true;
  for (const Layout& batch : batches) {
    cells.gather(comm, gas, axis, batch);
    all_physical &= find_depth<T>(cells, gas, axis, broadening, depth);
  }
  if (!comm.all(all_physical)) refuse_absorbers(comm, gas, axis);
  return depth;
}

template bool find_depth(const LineCells&, const Absorbers&, int, Broadening, mesh::FieldView<double>);
template mesh::Field<double> optical_depth(const comm::Communicator&, const Absorbers&, int, Broadening);
template mesh::Field<float> optical_depth(const comm::Communicator&, const Absorbers&, int, Broadening);

}  // namespace sidestream::analysis
