#pragma once

#include <span>

#include "sidestream/solvers/uv_background.hpp"

namespace sidestream::solvers {

/// What holds for all cells at a redshift, as the kernels of heating and cooling want it. Energies are in Kelvin: theta
/// = T (1 + y + x_e), y = n_He / n_H and x_e = n_e / n_H, of which the specific internal energy is a multiple.
struct HeatingMoment {
  const double* rates = nullptr;      ///< table of the rates of two-body processes
  const double* shielding = nullptr;  ///< table of the light that reaches dense gas, or null where all of it does
  double helium = 0.0;                ///< y
  UvRates uv;                         ///< at mean density
  double compton = 0.0;  ///< heat that an electron gives to the microwave background, by Kelvin of T - T_cmb [erg/s/K]
  double cmb_temperature = 0.0;        ///< T_cmb [K]
  double heating_exponent = 0.0;       ///< photoheating is multiplied by (density / mean density) to this power
  double mean_density = 1.0;           ///< in units of the rows
  double shielding_log_density = 0.0;  ///< ln of n_SSh [1/cm^3] at T = 1 K
  double hydrogen_per_density = 1.0;   ///< n_H [1/cm^3] of a unit of density
  double theta_per_energy = 1.0;       ///< [K] of a unit of energy
  double seconds_per_time = 1.0;
  double log_floor = 0.0;  ///< ln of the lowest temperature [K] that integration leaves behind
};

/// Gas in equilibrium of ionisation, cell by cell: fractions are over n_H, rates are [erg/s/cm^3]. Rows that are empty
/// are not wanted.
struct GasEquilibrium {
  std::span<double> temperature, energy;  ///< [K]; specific, in units of the caller
  std::span<double> electrons, hi, hii, hei, heii, heiii;
  std::span<double> heating, cooling, compton;  ///< by the background; of two-body processes; of Compton scattering
};

}  // namespace sidestream::solvers
