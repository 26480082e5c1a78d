#pragma once

#include <array>
#include <cstddef>

#include "sidestream/core/largest_magnitude.hpp"
#include "solvers/hydro/hydro_rows.hpp"

namespace sidestream::solvers {

// Loops over the cells of a row, for every instruction set.
#pragma GCC visibility push(default)
inline namespace kernels {

/// Momenta and total energies of `cells` cells after a kick by `factor` times the acceleration, by axis.
void kick_row(int cells, double factor, const std::array<const double*, 3>& acceleration, Rows gas);

/// The same by the central differences of a potential, `over_two_dx` being one over twice the size of a cell along
/// each axis. `phi` is where the row begins in the potential, whose neighbours along y and z are `stride_y` and
/// `stride_z` away.
void kick_row_by_potential(int cells, double factor, const double* phi, std::ptrdiff_t stride_y,
                           std::ptrdiff_t stride_z, const std::array<double, 3>& over_two_dx, Rows gas);

/// Adds to `rate` how many cells the fastest wave crosses in a unit of time along each axis (`over_dx`: one over the
/// size of a cell; the squared sound speed is `square_factor` times the specific internal energy), to `others`
/// density and total energy.
void find_fastest(int cells, double square_factor, const std::array<double, 3>& over_dx, ConstRows gas,
                  core::LargestMagnitude& rate, core::LargestMagnitude& others);

}  // namespace kernels
#pragma GCC visibility pop

}  // namespace sidestream::solvers
