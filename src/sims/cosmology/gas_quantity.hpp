#pragma once

#include <string>

#include "sidestream/core/view.hpp"
#include "sims/cosmology/cosmology_config.hpp"

namespace sidestream::sims {

/// A field of the gas of a cosmological simulation, from the conserved supercomoving state at the scale factor `a`:
/// `gas_density` (comoving), `temperature`, `velocity_x`, `_y`, `_z` (proper, peculiar); for criteria of refinement
/// also `gas_overdensity` (in units of the mean) and `pressure` (supercomoving).
class GasQuantity {
 public:
  GasQuantity(const CosmologyConfig& config, const std::string& name, double a)
      : component_(name.starts_with("gas_")       ? static_cast<int>(solvers::density)
                   : name.starts_with("velocity") ? solvers::momentum_x + (name.back() - 'x')
                                                  : static_cast<int>(solvers::internal_energy)),
        is_per_mass_(name == "temperature" || name.starts_with("velocity")) {
    if (name == "gas_overdensity") factor_ = 1.0 / config.parameters.baryon_density();
    if (name == "temperature") factor_ = config.temperature_factor(a);
    if (name == "pressure") factor_ = config.hydro.gamma - 1.0;
    if (name.starts_with("velocity")) factor_ = 1.0 / a;
  }

  double operator()(core::View4<const double> gas, int k, int j, int i) const {
    const double value = factor_ * gas(component_, k, j, i);
    return is_per_mass_ ? value / gas(solvers::density, k, j, i) : value;
  }

 private:
  int component_;
  double factor_ = 1.0;
  bool is_per_mass_;
};

}  // namespace sidestream::sims
