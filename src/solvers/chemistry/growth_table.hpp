#pragma once

#include <cstdint>
#include <vector>

namespace sidestream::solvers {

/// Factors by which pressures grow, as a function of density and of pressure over density. Nodes are where the bits of
/// a double count on evenly: powers of two and, for the second argument, the quarters between them. Factors are
/// bilinear between them in those counts, which are nearly logarithms.
struct GrowthTable {
  static constexpr int density_bits = 0, energy_bits = 2;  // 2^bits nodes an octave

  std::int64_t first_density = 0, first_energy = 0;  ///< counts of the first nodes
  std::int64_t densities = 2, energies = 2;          ///< numbers of nodes
  std::vector<double> factors;                       ///< [density][energy]

  /// With nodes at or below the least arguments and above the largest.
  GrowthTable(double least_density, double most_density, double least_energy, double most_energy);
  double density(std::int64_t node) const;
  double energy(std::int64_t node) const;
};

#pragma GCC visibility push(default)
inline namespace kernels {

/// Multiplies pressures by the factors of a table; beyond it by some at its side.
void multiply_by_growth(const GrowthTable& table, int cells, const double* density, double* pressure);

}  // namespace kernels
#pragma GCC visibility pop

}  // namespace sidestream::solvers
