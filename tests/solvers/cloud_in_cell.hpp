#pragma once

#include <array>
#include <cmath>

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::test {

/// The definition of cloud-in-cell weights, for particles one by one: calls `f(cell, weight)` for the cells of a
/// periodic grid that one at `position` lies in.
template <typename F>
void for_each_weight(const mesh::Geometry& geometry, const std::array<double, 3>& position, F f) {
  std::array<int, 3> first;
  std::array<double, 3> fraction;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double s = position[axis] / geometry.cell_size(static_cast<int>(axis)) - 0.5;
    first[axis] = static_cast<int>(std::floor(s));
    fraction[axis] = s - std::floor(s);
  }
  core::for_each_cell(mesh::Box{{0, 0, 0}, {2, 2, 2}}, [&](int dz, int dy, int dx) {
    const double weight = (dx ? fraction[0] : 1.0 - fraction[0]) * (dy ? fraction[1] : 1.0 - fraction[1]) *
                          (dz ? fraction[2] : 1.0 - fraction[2]);
    const mesh::Int3 cells = geometry.domain.hi;
    f(mesh::Int3{mesh::wrapped(first[0] + dx, cells.x), mesh::wrapped(first[1] + dy, cells.y),
                 mesh::wrapped(first[2] + dz, cells.z)},
      weight);
  });
}

}  // namespace sidestream::test
