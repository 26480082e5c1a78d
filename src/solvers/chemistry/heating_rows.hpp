#pragma once

#include "sidestream/solvers/heating_moment.hpp"

namespace sidestream::solvers {

/// What happened to the cells of a row. Indices of cells are -1 where there is none.
struct HeatingTally {
  int at_floor = 0;  ///< cells that the temperature floor held
  int failed = 0;    ///< cells whose equilibrium was not found or whose step went on too long; they are as they were
  int first_failed = -1;
  int steps = 0;  ///< that the cells took together, those taken again included
};

// Loops over the cells of a row, for every instruction set. Each cell is treated as if it were alone.
#pragma GCC visibility push(default)
inline namespace kernels {

/// Integrates d energy / d time = source + heating - cooling over `dt` at constant density. Densities and energies are
/// finite and above zero, energies and sources in units of the rows, `source` is null for none.
HeatingTally integrate_row(const HeatingMoment& moment, int cells, double dt, const double* density,
                           const double* source, double* energy);

/// Equilibrium of cells of these energies; and of these temperatures [K]. How many cells were not solved.
int equilibrium_of_energies(const HeatingMoment& moment, int cells, const double* density, const double* energy,
                            const GasEquilibrium& out);
int equilibrium_of_temperatures(const HeatingMoment& moment, int cells, const double* density,
                                const double* temperature, const GasEquilibrium& out);

}  // namespace kernels
#pragma GCC visibility pop

}  // namespace sidestream::solvers
