#include "sims/cosmology/initial_gas.hpp"

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::sims {

mesh::Field<double> conserved_gas(const CosmologyConfig& config, const solvers::InitialGas& initial, double a) {
  mesh::Field<double> state(initial.density.layout(), initial.density.rank(), solvers::gas_components,
                            solvers::hydro_ghosts(initial.density.layout().domain()));
  const double energy = config.start_temperature() / config.temperature_factor(a);
  const double mean = config.gas_mean_density(), exponent = config.hydro.gamma - 1.0;
  for (int b = 0; b < state.blocks(); ++b) {
    const auto gas = state.view(b);
    const auto rho = initial.density.view(b), velocity = initial.velocity.view(b);
    core::for_each_cell(state.box(b), [=](int k, int j, int i) {
      gas(solvers::density, k, j, i) = rho(k, j, i);
      for (int axis = 0; axis < 3; ++axis)
        gas(solvers::momentum_x + axis, k, j, i) = rho(k, j, i) * velocity(axis, k, j, i);
      gas(solvers::internal_energy, k, j, i) = rho(k, j, i) * energy * core::pow(rho(k, j, i) / mean, exponent);
    });
  }
  solvers::set_total_energy(state);
  return state;
}

}  // namespace sidestream::sims
