#pragma once

#include "sidestream/sims/simulation.hpp"

namespace sidestream::sims {

SimulationEntry cosmology_entry();
SimulationEntry nbody_entry();
SimulationEntry turbulence_entry();
SimulationEntry lbm_entry();
SimulationEntry host_entry();

}  // namespace sidestream::sims
