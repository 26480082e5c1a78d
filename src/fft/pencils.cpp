#include "fft/pencils.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fft/process_grid.hpp"

namespace sidestream::fft {

using mesh::Box;
using mesh::Int3;
using mesh::Layout;

namespace {

bool have_equal_boxes(const Layout& a, const Layout& b) {
  return std::ranges::equal(a.boxes(), b.boxes()) && std::ranges::equal(a.owners(), b.owners());
}

bool covers(const Layout& layout, const Box& domain) {
  std::int64_t covered = 0;
  for (const Box& box : layout.boxes()) covered += box.volume();
  return layout.size() > 0 && layout.domain() == domain && covered == domain.volume();
}

Int3 cells_of(const Layout& given) {
  core::require(given.size() > 0 && given.domain().lo == Int3{},
                "a Fourier transform takes a layout whose domain begins at cell 0");
  core::require(covers(given, given.domain()), "a Fourier transform takes a layout that covers its whole domain once");
  return given.domain().hi;
}

Int3 waves_of(Int3 cells, const std::optional<Int3>& kept) {
  if (!kept) return cells;
  for (int axis = 0; axis < 3; ++axis)
    if ((*kept)[axis] < 0 || 2 * (*kept)[axis] + 1 > cells[axis])
      throw core::Error(
          fmt::format("the wavenumbers from -{0} to {0} are not on an axis of {1} cells", (*kept)[axis], cells[axis]),
          "", fmt::format("keep at most {}", (cells[axis] - 1) / 2));
  return {2 * kept->x + 1, 2 * kept->y + 1, 2 * kept->z + 1};
}

ProcessGrid checked(ProcessGrid grid, int ranks) {
  if (grid.rows < 1 || grid.columns < 1 || grid.ranks() > ranks)
    throw core::Error(fmt::format("a process grid of {} x {} does not fit on {} ranks", grid.rows, grid.columns, ranks),
                      "", "give rows and columns whose product is the number of ranks");
  return grid;
}

}  // namespace

bool Pencils::is_given_in_pencils() const {
  return have_equal_boxes(given, x_cells);
}
bool Pencils::y_is_x() const {
  return have_equal_boxes(x_modes, y_cells);
}
bool Pencils::z_is_y() const {
  return have_equal_boxes(y_modes, z_cells);
}
bool Pencils::is_wanted_in_pencils() const {
  return have_equal_boxes(z_modes, wanted);
}

Pencils pencils_of(const Layout& given, int ranks, bool is_real, const FftOptions& options) {
  core::require(options.components > 0 && options.ghost >= 0,
                "a Fourier transform takes at least one component and no negative number of ghost cells");
  core::require(!options.in_place || options.ghost == 0, "cells that are transformed in place have no ghost cells");
  const Int3 n = cells_of(given), w = waves_of(n, options.kept);
  const Int3 m{is_real ? w.x / 2 + 1 : w.x, w.y, w.z};
  const ProcessGrid grid =
      options.grid ? checked(*options.grid, ranks) : choose_process_grid(n, m, ranks, options.decomposition);
  const auto [rows, columns] = grid;
  Pencils all{n, w, grid, given, {}, {}, {}, {}, {}, {}, {}};
  all.x_cells = split(mesh::domain_of(n), {1, rows, columns}, given.periodic());
  all.x_modes = split(mesh::domain_of({m.x, n.y, n.z}), {1, rows, columns});
  all.y_cells = split(mesh::domain_of({m.x, n.y, n.z}), {rows, 1, columns});
  all.y_modes = split(mesh::domain_of({m.x, m.y, n.z}), {rows, 1, columns});
  all.z_cells = split(mesh::domain_of({m.x, m.y, n.z}), {rows, columns, 1});
  all.z_modes = split(mesh::domain_of(m), {rows, columns, 1});
  all.wanted = options.spectral.value_or(all.z_modes);
  core::require(covers(all.wanted, mesh::domain_of(m)),
                "a Fourier transform takes a layout of modes that covers their whole domain once");
  return all;
}

Layout slice_of(const Layout& layout, int index, int count) {
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t b = 0; b < layout.size(); ++b) {
    Box box = layout.box(b);
    const std::int32_t first = box.lo.z, planes = box.extent().z;
    box.lo.z = first + planes * index / count;
    box.hi.z = first + planes * (index + 1) / count;
    if (box.lo.z == box.hi.z) continue;
    boxes.push_back(box);
    owners.push_back(layout.owner(b));
  }
  return {layout.domain(), layout.periodic(), std::move(boxes), std::move(owners)};
}

}  // namespace sidestream::fft
