#pragma once

#include <optional>

#include "sidestream/core/config.hpp"

namespace sidestream::solvers {

/// A universe of matter, curvature and a cosmological constant, without radiation. The defaults are close to Planck
/// 2018 (arXiv:1807.06209, table 2, last column) and those of the shipped table of the linear power spectrum.
struct CosmologyParameters {
  double omega_m = 0.3096;             ///< all matter today, in units of the critical density
  double omega_b = 0.04897;            ///< baryons today, part of `omega_m`
  std::optional<double> omega_lambda;  ///< cosmological constant; without a value, what makes space flat
  double hubble = 0.6766;              ///< h: the Hubble constant over 100 km/s/Mpc
  double sigma8 = 0.8102;              ///< rms of the linear density contrast at z = 0 in spheres of 8 Mpc/h
  double ns = 0.9665;                  ///< spectral index of the primordial fluctuations
  double t_cmb = 2.7255;               ///< temperature of the microwave background today [K]

  double lambda() const { return omega_lambda.value_or(1.0 - omega_m); }
  double curvature() const { return omega_lambda ? 1.0 - omega_m - *omega_lambda : 0.0; }
  double hubble_constant() const;                                         ///< H0 [km/s/Mpc]
  double critical_density() const;                                        ///< 3 H0^2 / (8 pi G) [Msun/Mpc^3]
  double matter_density() const { return omega_m * critical_density(); }  ///< comoving mean of all matter [Msun/Mpc^3]
  double baryon_density() const { return omega_b * critical_density(); }  ///< comoving mean of baryons [Msun/Mpc^3]
};

/// The keys of the parameters in a configuration: omega_m, omega_b, omega_lambda, hubble, sigma8, ns, t_cmb.
core::Table<CosmologyParameters> cosmology_table();

/// Throws a core::Error unless 0 <= omega_b <= omega_m, and both omega_m and hubble are above zero.
void check(const CosmologyParameters& parameters);

inline double redshift(double scale_factor) {
  return 1.0 / scale_factor - 1.0;
}
inline double scale_factor(double redshift) {
  return 1.0 / (1.0 + redshift);
}

}  // namespace sidestream::solvers
