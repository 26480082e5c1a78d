#pragma once

#include "sidestream/sims/simulation.hpp"
#include "sims/problems/gas_problem.hpp"

namespace sidestream::sims {

/// The simulation of a problem of gas dynamics, on a uniform or a refined mesh.
SimulationEntry gas_simulation(const GasProblemEntry& problem);

}  // namespace sidestream::sims
