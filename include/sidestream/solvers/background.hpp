#pragma once

#include "sidestream/solvers/cosmology_parameters.hpp"

namespace sidestream::solvers {

/// The expansion of space and the linear growth of structure in it. Relative errors are below 1e-10; all members are
/// deterministic and cost microseconds. Times are in Mpc/(km/s), the scale factor `a` is 1 today.
class Background {
 public:
  explicit Background(const CosmologyParameters& parameters);

  const CosmologyParameters& parameters() const { return parameters_; }

  double hubble(double a) const;              ///< H(a) [km/s/Mpc]
  double omega_m(double a) const;             ///< matter over critical density at `a`
  double time(double a) const;                ///< age of the universe at `a`
  double scale_factor_at(double time) const;  ///< inverse of `time`

  double growth(double a) const;                    ///< D(a), linear growth of the density contrast, 1 at a = 1
  double growth_rate(double a) const;               ///< f = dlnD/dlna
  double second_order_growth(double a) const;       ///< D2(a) of second-order Lagrangian perturbations (negative)
  double second_order_growth_rate(double a) const;  ///< f2 = dlnD2/dlna

  double kick_integral(double a0, double a1) const;   ///< integral of dt/a from a0 to a1
  double drift_integral(double a0, double a1) const;  ///< integral of dt/a^2: the interval dtau of supercomoving time
  /// The scale factor after the supercomoving time `dtau` from `a0` on: inverse of `drift_integral`. Throws core::Error
  /// when the universe never gets that old.
  double scale_factor_after(double a0, double dtau) const;

 private:
  double growth_integral(double a) const;

  CosmologyParameters parameters_;
  double omega_lambda_ = 0.0, omega_k_ = 0.0, hubble_constant_ = 0.0, growth_today_ = 1.0;
};

/// The factors of one kick-drift-kick step from `a0` to `a1` for momenta w = a u and positions x (comoving): w +=
/// first_kick * g at the old positions, x += drift * w, w += second_kick * g at the new ones, where g = -grad psi and
/// lap psi = rho - mean (comoving densities in Msun/Mpc^3). Exact in time for the expansion; symmetric, so second
/// order.
struct LeapfrogStep {
  double a0, a_half, a1;  ///< the middle is half way in supercomoving time
  double first_kick;      ///< 4 pi G times the integral of dt/a from a0 to a_half
  double drift;           ///< integral of dt/a^2 from a0 to a1: dtau
  double second_kick;     ///< 4 pi G times the integral of dt/a from a_half to a1
};
LeapfrogStep leapfrog_step(const Background& background, double a0, double a1);

}  // namespace sidestream::solvers
