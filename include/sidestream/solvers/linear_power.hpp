#pragma once

#include <functional>
#include <string>

#include "sidestream/solvers/cosmology_parameters.hpp"

namespace sidestream::solvers {

/// The power spectrum of linear matter fluctuations at z = 0: k in 1/Mpc, P in Mpc^3 (comoving, no factors of h).
class LinearPower {
 public:
  /// `power` is good from `k_min` to `k_max` [1/Mpc]; below, it is continued as k^`ns`.
  LinearPower(std::function<double(double)> power, double k_min, double k_max, double ns);

  /// P(k) [Mpc^3]. Throws core::Error for k beyond `k_max()`.
  double operator()(double k) const;
  double k_min() const { return k_min_; }
  double k_max() const { return k_max_; }

  /// rms of the density contrast in spheres of `radius` [Mpc], over the wavenumbers up to `k_max`.
  double sigma(double radius) const;
  /// The same shape scaled so that sigma(`radius`) is `value`.
  LinearPower normalized(double radius, double value) const;

 private:
  std::function<double(double)> power_;
  double k_min_, k_max_, ns_;
};

/// The fitting formula of Eisenstein & Hu 1998 (ApJ 496, 605) with acoustic oscillations, normalised to `sigma8`.
LinearPower eisenstein_hu(const CosmologyParameters& parameters);
/// Its transfer function at `k` [1/Mpc]; 1 at k = 0.
double eisenstein_hu_transfer(const CosmologyParameters& parameters, double k);

/// The table of a file with the columns k [h/Mpc] and P [(Mpc/h)^3] at z = 0 (separated by commas or blanks; lines with
/// # are comments), interpolated by cubic splines in ln k and ln P and normalised to `sigma8`. Comments of the form `#
/// omega_m = 0.3096` state the cosmology of the table (omega_m, omega_b, hubble, ns); throws core::Error naming those
/// that differ from `parameters`.
LinearPower read_linear_power(const std::string& path, const CosmologyParameters& parameters);

/// The table computed with CAMB that comes with the code (data/linear_power_planck2018.csv), for the default
/// parameters.
LinearPower shipped_linear_power(const CosmologyParameters& parameters);

/// Amplitude of the fluctuations of warm dark matter over that of cold at `k` [1/Mpc], where all dark matter (`omega_m`
/// - `omega_b`) is thermal relics of mass `mass_kev`: Viel et al. 2005 (PRD 71, 063534), equations 6 and 7.
double warm_transfer(const CosmologyParameters& parameters, double mass_kev, double k);
/// `cold` times the square of `warm_transfer`. It keeps its normalisation, so that large scales are as without the
/// mass. Throws core::Error where all matter is baryons.
LinearPower warm(const LinearPower& cold, const CosmologyParameters& parameters, double mass_kev);

/// By name: "camb" (the shipped table), "eisenstein-hu", or the path of a table.
LinearPower make_linear_power(const std::string& name, const CosmologyParameters& parameters);

}  // namespace sidestream::solvers
