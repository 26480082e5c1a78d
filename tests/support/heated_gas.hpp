#pragma once

#include <string>
#include <vector>

#include "sidestream/solvers/heating_cooling.hpp"

namespace sidestream::test {

/// The flat universe of the check values: Omega_m = 0.275, Omega_b = 0.046, h = 0.702, T_cmb = 2.725 K.
inline solvers::CosmologyParameters cosmology_n() {
  solvers::CosmologyParameters parameters;
  parameters.omega_m = 0.275;
  parameters.omega_b = 0.046;
  parameters.hubble = 0.702;
  parameters.t_cmb = 2.725;
  return parameters;
}

inline constexpr double gram_per_hydrogen = 1.67262e-24 / 0.76;
inline constexpr double seconds_per_myr = 3.15576e13;

/// Heating and cooling by the fits that check values are for.
inline solvers::HeatingCooling published_heating(const std::string& background = "onorbe17_middle",
                                                 const std::string& rates = "lukic2015-as-published") {
  solvers::HeatingConfig config;
  config.uv_background = background;
  config.rates = rates;
  return {config, cosmology_n()};
}

/// Without a background.
inline solvers::HeatingCooling dark_heating(const std::string& rates = "lukic2015-as-published") {
  solvers::HeatingConfig config;
  config.rates = rates;
  config.ionization_factor = config.heating_factor = 0.0;
  return {config, cosmology_n()};
}

/// One cell in equilibrium, in cgs.
struct CellEquilibrium {
  double temperature, energy, electrons, hi, hii, hei, heii, heiii, heating, cooling, compton;

  solvers::GasEquilibrium rows() {
    return {{&temperature, 1}, {&energy, 1}, {&electrons, 1}, {&hi, 1},      {&hii, 1},    {&hei, 1},
            {&heii, 1},        {&heiii, 1},  {&heating, 1},   {&cooling, 1}, {&compton, 1}};
  }
};

/// A cell of `hydrogen` [1/cm^3] at a temperature [K], and one of a specific energy [erg/g].
inline CellEquilibrium at_temperature(const solvers::HeatingCooling::Epoch& epoch, double hydrogen,
                                      double temperature) {
  CellEquilibrium cell{};
  const double density = hydrogen * gram_per_hydrogen;
  epoch.equilibrium_at_temperature({&density, 1}, {&temperature, 1}, cell.rows());
  return cell;
}
inline CellEquilibrium at_energy(const solvers::HeatingCooling::Epoch& epoch, double hydrogen, double energy) {
  CellEquilibrium cell{};
  const double density = hydrogen * gram_per_hydrogen;
  epoch.equilibrium({&density, 1}, {&energy, 1}, cell.rows());
  return cell;
}

/// The temperature [K] of a cell that begins at `temperature`, after `myr`; `source` [erg/g/s].
inline double temperature_after(const solvers::HeatingCooling::Epoch& epoch, double hydrogen, double temperature,
                                double myr, double source = 0.0) {
  const double density = hydrogen * gram_per_hydrogen;
  double energy = at_temperature(epoch, hydrogen, temperature).energy;
  epoch.advance(myr * seconds_per_myr, {&density, 1}, {&source, 1}, {&energy, 1});
  return at_energy(epoch, hydrogen, energy).temperature;
}

}  // namespace sidestream::test
