#include "sidestream/solvers/boundary.hpp"

#include <algorithm>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::solvers {

namespace {

using View = core::View4<double>;

void copy_cell(View u, mesh::Int3 from, mesh::Int3 to) {
  for (int c = 0; c < gas_components; ++c) u(c, to.z, to.y, to.x) = u(c, from.z, from.y, from.x);
}

void write_user(View u, mesh::Int3 cell, const Boundaries& boundaries) {
  std::array<double, gas_components> gas{};
  boundaries.user(cell, gas);
  for (int c = 0; c < gas_components; ++c) u(c, cell.z, cell.y, cell.x) = gas[static_cast<std::size_t>(c)];
}

/// The cells of `grown` beyond one side of the domain.
mesh::Box beyond(mesh::Box grown, const mesh::Box& domain, int axis, bool high) {
  if (high)
    grown.lo[axis] = std::max(grown.lo[axis], domain.hi[axis]);
  else
    grown.hi[axis] = std::min(grown.hi[axis], domain.lo[axis]);
  return grown;
}

void fill_side(View u, const mesh::Box& ghosts, const mesh::Box& domain, int axis, bool high,
               const Boundaries& boundaries) {
  const BoundaryKind kind = boundaries.side[static_cast<std::size_t>(axis)][high];
  const std::int32_t nearest = high ? domain.hi[axis] - 1 : domain.lo[axis];
  const std::int32_t twice_wall =
      high ? 2 * domain.hi[axis] - 1 : 2 * domain.lo[axis] - 1;  // cell and image add up to it
  core::for_each_cell(ghosts, [&](int k, int j, int i) {
    const mesh::Int3 cell{i, j, k};
    mesh::Int3 source = cell;
    source[axis] = kind == BoundaryKind::reflecting ? twice_wall - cell[axis] : nearest;
    if (kind == BoundaryKind::user) return write_user(u, cell, boundaries);
    copy_cell(u, source, cell);
    if (kind == BoundaryKind::reflecting) u(momentum_x + axis, k, j, i) = -u(momentum_x + axis, k, j, i);
  });
}

}  // namespace

void fill_boundary(mesh::Field<double>& state, const mesh::Geometry& geometry, const Boundaries& boundaries) {
  core::require(state.components() == gas_components, "a gas state has six components");
  const mesh::Box& domain = geometry.domain;
  for (int b = 0; b < state.blocks(); ++b)
    for (int axis = 0; axis < 3; ++axis)
      for (const bool high : {false, true}) {
        if (geometry.periodic[static_cast<std::size_t>(axis)] || domain.extent()[axis] == 1) continue;
        const mesh::Box ghosts = beyond(state.box(b).grown(state.ghosts().layers), domain, axis, high);
        if (!ghosts.is_empty()) fill_side(state.view(b), ghosts, domain, axis, high, boundaries);
      }
}

}  // namespace sidestream::solvers
