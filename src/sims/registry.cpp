#include "sims/registry.hpp"

#include <vector>

#include "sims/gas/gas_simulation.hpp"

namespace sidestream::sims {

const core::Registry<SimulationEntry>& simulations() {
  static const core::Registry<SimulationEntry> all({"simulations", "simulation", "the key `simulation`"}, [] {
    std::vector<SimulationEntry> entries{cosmology_entry(), nbody_entry(), turbulence_entry(), lbm_entry()};
    for (const GasProblemEntry& problem : gas_problems()) entries.push_back(gas_simulation(problem));
    entries.push_back(host_entry());
    return entries;
  }());
  return all;
}

}  // namespace sidestream::sims
