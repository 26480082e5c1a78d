#include "sidestream/solvers/cloud_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/owned_cells.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::solvers {

namespace {

// The two cells along an axis that share a cloud: `first` and the next, by their part of it.
struct AxisShare {
  std::int32_t first = 0;
  std::array<double, 2> part{};
};

AxisShare share_on_axis(const mesh::Geometry& geometry, int axis, double x, std::int32_t cell) {
  const std::int32_t cells = geometry.domain.hi[axis];
  const double within = x * (cells / geometry.length[static_cast<std::size_t>(axis)]) - cell;
  const bool is_upper = within >= 0.5;
  const double fraction = is_upper ? within - 0.5 : within + 0.5;
  return {is_upper ? cell : cell - 1, {1.0 - fraction, fraction}};
}

// The power of two that turns an amount into integers whose sum over `count` particles stays below 2^62.
double scale_for(double largest, std::int64_t count) {
  if (largest == 0.0) return 0.0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count)));
  return std::ldexp(1.0, 61 - bits - exponent);
}

std::vector<double> scales_of(const comm::Communicator& comm, std::size_t count,
                              std::span<const std::span<const double>> amounts) {
  const std::int64_t total = comm.sum(static_cast<std::int64_t>(count));
  std::vector<double> scales;
  for (const auto amount : amounts) {
    double largest = 0.0;
    for (const double value : amount) largest = std::max(largest, std::abs(value));
    scales.push_back(scale_for(comm.max(largest), total));
  }
  return scales;
}

// f(cell, part) for the eight cells that share a cloud, which may lie one beyond the domain; `cell` holds `position`.
template <typename F>
void for_each_share(const mesh::Geometry& geometry, const std::array<double, 3>& position, mesh::Int3 cell, F f) {
  std::array<AxisShare, 3> share;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    share[a] = share_on_axis(geometry, axis, position[a], cell[axis]);
  }
  for (std::size_t corner = 0; corner < 8; ++corner) {
    const std::size_t dx = corner & 1, dy = corner >> 1 & 1, dz = corner >> 2;
    f(mesh::Int3{share[0].first + static_cast<int>(dx), share[1].first + static_cast<int>(dy),
                 share[2].first + static_cast<int>(dz)},
      share[0].part[dx] * share[1].part[dy] * share[2].part[dz]);
  }
}

std::int64_t units_of(double part, double scale, double amount) {
  return std::llrint(part * (scale * amount));
}

using Sums = mesh::Field<std::int64_t>;

void add_clouds(const mesh::Geometry& geometry, const mesh::Particles& particles,
                std::span<const std::span<const double>> amounts, const std::vector<double>& scales, Sums& sums) {
  const redistribute::OwnedCells own(sums.layout(), sums.rank());
  for (std::size_t p = 0; p < particles.size(); ++p) {
    const std::array position{particles.position[0][p], particles.position[1][p], particles.position[2][p]};
    const mesh::Int3 cell = cell_of(geometry, position);
    const std::int32_t block = geometry.domain.contains(cell) ? own.block_of(cell) : -1;
    core::require(block >= 0, "particles are on the rank that owns their cell");
    for_each_share(geometry, position, cell, [&, sum = sums.view(block)](mesh::Int3 at, double part) {
      for (std::size_t c = 0; c < amounts.size(); ++c)
        sum(static_cast<int>(c), at.z, at.y, at.x) += units_of(part, scales[c], amounts[c][p]);
    });
  }
}

}  // namespace

mesh::Field<double> cloud_sums(const comm::Communicator& comm, const mesh::Layout& layout,
                               const mesh::Geometry& geometry, const mesh::Particles& particles,
                               std::span<const std::span<const double>> amounts) {
  const std::vector<double> scales = scales_of(comm, particles.size(), amounts);
  const auto components = static_cast<int>(amounts.size());
  Sums sums(layout, comm.rank(), components, 1);
  comm.agree_on([&] { add_clouds(geometry, particles, amounts, scales, sums); });
  redistribute::GhostFold(comm, layout, 1).fold(sums);

  mesh::Field<double> density(layout, comm.rank(), components);
  for (int b = 0; b < density.blocks(); ++b)
    for (int c = 0; c < components; ++c) {
      const double scale = scales[static_cast<std::size_t>(c)];
      const double factor = scale > 0.0 ? 1.0 / (scale * geometry.cell_volume()) : 0.0;
      const core::View4<const std::int64_t> sum = std::as_const(sums).view(b);
      const core::View4<double> value = density.view(b);
      core::for_each_cell(density.box(b), [=](int k, int j, int i) {
        value(c, k, j, i) = factor * static_cast<double>(sum(c, k, j, i));
      });
    }
  return density;
}

CloudCover::CloudCover(const mesh::Geometry& geometry, double largest, std::int64_t count)
    : geometry_(geometry),
      scale_(scale_for(largest, count)),
      is_covered_(static_cast<std::size_t>(geometry.domain.volume()), false) {}

void CloudCover::add(const mesh::Particles& particles, std::span<const double> amounts) {
  const mesh::Int3 n = geometry_.domain.extent();
  for (std::size_t p = 0; p < particles.size(); ++p) {
    std::array<double, 3> position{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      position[axis] = mesh::wrapped_coordinate(particles.position[axis][p], geometry_.length[axis]);
    for_each_share(geometry_, position, cell_of(geometry_, position), [&](mesh::Int3 at, double part) {
      if (units_of(part, scale_, amounts[p]) == 0) return;
      const mesh::Int3 cell{mesh::wrapped(at.x, n.x), mesh::wrapped(at.y, n.y), mesh::wrapped(at.z, n.z)};
      is_covered_[static_cast<std::size_t>(linear_index(geometry_.domain, cell))] = true;
    });
  }
}

std::int64_t CloudCover::empty_cells() const {
  return std::count(is_covered_.begin(), is_covered_.end(), false);
}

}  // namespace sidestream::solvers
