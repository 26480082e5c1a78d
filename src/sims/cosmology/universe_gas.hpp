#pragma once

#include <memory>
#include <vector>

#include "sidestream/solvers/heating_cooling.hpp"
#include "sims/cosmology/cosmology_config.hpp"
#include "sims/gas/gas_quantities.hpp"

namespace sidestream::sims {

/// The table of the gas of a universe at the scale factor `a`. With `[heating]` temperatures follow from ionisation
/// equilibrium, and there are electrons, neutral hydrogen and singly ionised helium; `heating` may be null where nobody
/// writes them.
std::vector<GasQuantity> universe_gas(const CosmologyConfig& config, double a,
                                      std::shared_ptr<const solvers::HeatingCooling> heating);

}  // namespace sidestream::sims
