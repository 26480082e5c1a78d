#pragma once

#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::solvers {

/// Writes the potential of a cell of unit density at the origin under the 7-point Laplacian on an endless grid with the
/// cells of `geometry`. `green` covers a periodic domain twice as wide, so that each distance occurs with both signs.
/// Relative error below 1e-12. Local.
void fill_with_lattice_green(const mesh::Geometry& geometry, mesh::Field<double>& green);

}  // namespace sidestream::solvers
