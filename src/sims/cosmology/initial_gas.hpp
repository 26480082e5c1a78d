#pragma once

#include "sims/cosmology/cosmology_config.hpp"

namespace sidestream::sims {

/// Gas in conserved supercomoving variables at the scale factor `a`, with ghost cells. Gas at the mean density has
/// `temperature_start` or, without it, the temperature of the time; denser gas was compressed adiabatically. Local.
mesh::Field<double> conserved_gas(const CosmologyConfig& config, const solvers::InitialGas& initial, double a);

}  // namespace sidestream::sims
