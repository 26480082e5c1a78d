#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::mesh {

/// The physical extent of a domain: the cell (0, 0, 0) of `domain` has its lower corner at the origin.
struct Geometry {
  Box domain;                      ///< all cells
  std::array<double, 3> length{};  ///< physical side along x, y, z [Mpc comoving, or the simulation's unit]
  Periodicity periodic{true, true, true};

  double cell_size(int axis) const {
    return length[static_cast<std::size_t>(axis)] / (domain.hi[axis] - domain.lo[axis]);
  }
  double cell_volume() const { return cell_size(0) * cell_size(1) * cell_size(2); }
  /// The same extent with cells half as large, `levels` times (an axis of one cell stays one cell).
  Geometry refined(int levels) const {
    Geometry fine = *this;
    for (int axis = 0; axis < 3; ++axis)
      if (domain.hi[axis] - domain.lo[axis] > 1) {
        fine.domain.lo[axis] <<= levels;
        fine.domain.hi[axis] <<= levels;
      }
    return fine;
  }
  double volume() const { return length[0] * length[1] * length[2]; }
};

/// The coordinate `x` of a periodic axis of side `length`, brought into [0, length). NaN stays NaN.
inline double wrapped_coordinate(double x, double length) {
  if (x >= 0.0 && x < length) return x;
  const double inside = x - length * std::floor(x / length);
  return inside >= length || inside < 0.0 ? 0.0 : inside;
}

/// Index along `axis` of the cell that holds the coordinate `x`: floor(x * cells / length), which must be an index (|x|
/// below some 10^9 cells and finite). A coordinate in [0, length) always gives a cell of the domain, however the
/// product rounds. All deposits, interpolations and migrations use this one definition.
inline std::int32_t cell_of(const Geometry& geometry, int axis, double x) {
  const auto cells = geometry.domain.hi[axis] - geometry.domain.lo[axis];
  const double length = geometry.length[static_cast<std::size_t>(axis)];
  const auto cell = static_cast<std::int32_t>(std::floor(x * (cells / length)));
  return x < length ? std::min(cell, cells - 1) : cell;
}

/// The cell that holds `position` (x, y, z).
inline Int3 cell_of(const Geometry& geometry, const std::array<double, 3>& position) {
  return {cell_of(geometry, 0, position[0]), cell_of(geometry, 1, position[1]), cell_of(geometry, 2, position[2])};
}

}  // namespace sidestream::mesh
