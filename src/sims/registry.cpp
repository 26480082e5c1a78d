#include "sims/registry.hpp"

#include <vector>

#include "sims/gas/gas_simulation.hpp"

namespace sidestream::sims {

std::span<const SimulationEntry> simulations() {
  static const std::vector<SimulationEntry> all = [] {
    std::vector<SimulationEntry> entries{cosmology_entry(), nbody_entry()};
    for (const GasProblemEntry& problem : gas_problems()) entries.push_back(gas_simulation(problem));
    return entries;
  }();
  return all;
}

}  // namespace sidestream::sims
