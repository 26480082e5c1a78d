#pragma once

#include <array>

#include "sidestream/core/view.hpp"
#include "sidestream/mesh/box.hpp"

namespace sidestream::amr {

/// Which axes a step of refinement divides by two: those of more than one cell.
using RefinedAxes = std::array<bool, 3>;

inline RefinedAxes refined_axes(const mesh::Box& domain) {
  const mesh::Int3 cells = domain.extent();
  return {cells.x > 1, cells.y > 1, cells.z > 1};
}

// Loops over cells, for every instruction set.
#pragma GCC visibility push(default)

/// The coarse cell that holds a fine cell, and the box of coarse cells that a box of fine cells touches.
mesh::Int3 coarsened(mesh::Int3 fine, RefinedAxes axes);
mesh::Box coarsened(const mesh::Box& fine, RefinedAxes axes);
/// The fine cells of a box of coarse cells.
mesh::Box refined(const mesh::Box& coarse, RefinedAxes axes);

/// Writes the cells `region` of `fine`, all components, from the cell averages `coarse`, which holds the coarse cells
/// of `region` and one more around them on each refined axis: linear with the monotonised central slope along each axis
/// (van Leer 1977), so that the children of a cell average to it, no new extremum arises along an axis, and a linear
/// function is reproduced. A constant stays constant to the bit; mirrored or axis-exchanged data give the mirrored or
/// exchanged result, to the bit.
void interpolate_limited(core::View4<const double> coarse, core::View4<double> fine, const mesh::Box& region,
                         RefinedAxes axes);

/// The same without slopes: each fine cell takes the value of its coarse cell.
void inject(core::View4<const double> coarse, core::View4<double> fine, const mesh::Box& region, RefinedAxes axes);

/// Writes the cells `region` of `coarse`, all components, as averages of their children in `fine`: the same bits for
/// mirrored or axis-exchanged children; equal children are averaged exactly.
void average(core::View4<const double> fine, core::View4<double> coarse, const mesh::Box& region, RefinedAxes axes);

#pragma GCC visibility pop

}  // namespace sidestream::amr
