#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sidestream/mesh/layout.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// Some of the lines along an axis: their first cells, all different, in the order of their index.
struct LineSample {
  int axis = 0;
  std::vector<mesh::Int3> lines;

  /// Each line a box, dealt to the ranks in order.
  mesh::Layout layout(const mesh::Layout& grid, int ranks) const;
};

/// The largest square lattice of at most `number` lines, spread evenly over the plane across the axis.
LineSample regular_lines(mesh::Int3 cells, int axis, std::int64_t number);

/// So many different ones, or all if there are no more.
LineSample random_lines(mesh::Int3 cells, int axis, std::int64_t number, std::int64_t seed);

/// A position in the box [comoving Mpc].
using Point = std::array<double, 3>;

/// The lines through the cells that hold the points, which the periodic box takes in from wherever they are.
struct LinesThroughPoints {
  LineSample sample;
  std::vector<std::int64_t> line_of_point;  ///< points may share a line
};
/// Throws core::Error for a point that is more than a box away from the box.
LinesThroughPoints lines_through(const std::vector<Point>& points, const mesh::Geometry& geometry, int axis);

}  // namespace sidestream::analysis
