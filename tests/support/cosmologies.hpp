#pragma once

#include "sidestream/solvers/cosmology_parameters.hpp"

namespace sidestream::test {

/// Clean numbers for check values: flat, Omega_m = 0.3.
inline solvers::CosmologyParameters cosmology_a() {
  solvers::CosmologyParameters parameters;
  parameters.omega_m = 0.30;
  parameters.omega_b = 0.05;
  parameters.hubble = 0.70;
  parameters.ns = 0.96;
  parameters.sigma8 = 0.80;
  return parameters;
}

/// Matter alone, at the critical density.
inline solvers::CosmologyParameters einstein_de_sitter() {
  solvers::CosmologyParameters parameters = cosmology_a();
  parameters.omega_m = 1.0;
  return parameters;
}

}  // namespace sidestream::test
