#pragma once

#include <array>
#include <functional>

#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::solvers {

/// What lies beyond a side of the domain that is not periodic.
enum class BoundaryKind {
  outflow,     ///< the nearest cell inside, continued
  reflecting,  ///< a wall: the mirror image, its momentum reversed along the axis
  user,        ///< whatever `Boundaries::user` writes
};

/// The boundary at the low and high side of each axis; not looked at where the axis is periodic.
struct Boundaries {
  std::array<std::array<BoundaryKind, 2>, 3> side{};  ///< [axis][0: low, 1: high]
  /// Writes the gas state of a ghost cell outside the domain; called for sides of kind `user`.
  std::function<void(mesh::Int3 cell, std::array<double, 6>& state)> user;
};

/// Sets the ghost cells of `state` (gas) that lie outside the domain on axes that are not periodic and have more than
/// one cell. Call it after the ghost exchange: the other ghost cells must be filled. Axes are done in the order x, y,
/// z, so corners are filled too. Local.
void fill_boundary(mesh::Field<double>& state, const mesh::Geometry& geometry, const Boundaries& boundaries);

}  // namespace sidestream::solvers
