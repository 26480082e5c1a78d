#include "solvers/chemistry/growth_table.hpp"

#include <bit>

namespace sidestream::solvers {

namespace {

std::int64_t count_of(double value, int bits) {
  return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value) >> (52 - bits));
}
double value_of(std::int64_t count, int bits) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(count) << (52 - bits));
}

}  // namespace

GrowthTable::GrowthTable(double least_density, double most_density, double least_energy, double most_energy)
    : first_density(count_of(least_density, density_bits)),
      first_energy(count_of(least_energy, energy_bits)),
      densities(count_of(most_density, density_bits) - first_density + 2),
      energies(count_of(most_energy, energy_bits) - first_energy + 2),
      factors(static_cast<std::size_t>(densities * energies), 1.0) {}

double GrowthTable::density(std::int64_t node) const {
  return value_of(first_density + node, density_bits);
}

double GrowthTable::energy(std::int64_t node) const {
  return value_of(first_energy + node, energy_bits);
}

}  // namespace sidestream::solvers
