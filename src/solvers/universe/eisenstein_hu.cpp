#include <cmath>
#include <numbers>

#include "sidestream/core/math.hpp"
#include "sidestream/solvers/linear_power.hpp"

namespace sidestream::solvers {

namespace {

// The fit of Eisenstein & Hu 1998 (ApJ 496, 605), whose equation numbers are given; wavenumbers in 1/Mpc, lengths in
// Mpc.
class Fit {
 public:
  explicit Fit(const CosmologyParameters& p);

  double transfer(double k) const { return baryon_fraction * baryons(k) + (1.0 - baryon_fraction) * cold_matter(k); }

 private:
  double pressureless(double q, double alpha, double beta) const;
  double cold_matter(double k) const;
  double baryons(double k) const;
  void set_sound_horizon(double matter, double baryon, double theta);
  void set_cold_matter(double matter);
  void set_baryons(double matter, double z_equality);

  double baryon_fraction, k_equality, z_drag, r_drag, sound_horizon, k_silk;
  double alpha_c, beta_c, alpha_b, beta_b, beta_node;
};

Fit::Fit(const CosmologyParameters& p) {
  const double h2 = p.hubble * p.hubble, matter = p.omega_m * h2, baryon = p.omega_b * h2, theta = p.t_cmb / 2.7;
  baryon_fraction = p.omega_b / p.omega_m;
  const double z_equality = 2.50e4 * matter * core::pow(theta, -4);  // 2
  k_equality = 7.46e-2 * matter * core::pow(theta, -2);              // 3
  set_sound_horizon(matter, baryon, theta);
  k_silk = 1.6 * core::pow(baryon, 0.52) * core::pow(matter, 0.73) * (1.0 + core::pow(10.4 * matter, -0.95));  // 7
  set_cold_matter(matter);
  set_baryons(matter, z_equality);
}

void Fit::set_sound_horizon(double matter, double baryon, double theta) {
  const double b1 = 0.313 * core::pow(matter, -0.419) * (1.0 + 0.607 * core::pow(matter, 0.674));
  const double b2 = 0.238 * core::pow(matter, 0.223);
  z_drag = 1291.0 * core::pow(matter, 0.251) / (1.0 + 0.659 * core::pow(matter, 0.828)) *
           (1.0 + b1 * core::pow(baryon, b2));                                                                // 4
  const auto baryon_loading = [&](double z) { return 31.5 * baryon * core::pow(theta, -4) * (1000.0 / z); };  // 5
  r_drag = baryon_loading(z_drag);
  const double r_equality = baryon_loading(2.50e4 * matter * core::pow(theta, -4));
  sound_horizon =
      2.0 / (3.0 * k_equality) * std::sqrt(6.0 / r_equality) *
      core::log((std::sqrt(1.0 + r_drag) + std::sqrt(r_drag + r_equality)) / (1.0 + std::sqrt(r_equality)));  // 6
}

void Fit::set_cold_matter(double matter) {
  const double cold_fraction = 1.0 - baryon_fraction;
  const double a1 = core::pow(46.9 * matter, 0.670) * (1.0 + core::pow(32.1 * matter, -0.532));
  const double a2 = core::pow(12.0 * matter, 0.424) * (1.0 + core::pow(45.0 * matter, -0.582));
  alpha_c = core::pow(a1, -baryon_fraction) * core::pow(a2, -core::pow(baryon_fraction, 3));  // 11
  const double b1 = 0.944 / (1.0 + core::pow(458.0 * matter, -0.708));
  const double b2 = core::pow(0.395 * matter, -0.0266);
  beta_c = 1.0 / (1.0 + b1 * (core::pow(cold_fraction, b2) - 1.0));  // 12
}

void Fit::set_baryons(double matter, double z_equality) {
  const double y = (1.0 + z_equality) / (1.0 + z_drag), root = std::sqrt(1.0 + y);
  const double g = y * (-6.0 * root + (2.0 + 3.0 * y) * core::log((root + 1.0) / (root - 1.0)));                  // 15
  alpha_b = 2.07 * k_equality * sound_horizon * core::pow(1.0 + r_drag, -0.75) * g;                               // 14
  beta_node = 8.41 * core::pow(matter, 0.435);                                                                    // 23
  beta_b = 0.5 + baryon_fraction + (3.0 - 2.0 * baryon_fraction) * std::sqrt(core::pow(17.2 * matter, 2) + 1.0);  // 24
}

// Equations 10, 19 and 20.
double Fit::pressureless(double q, double alpha, double beta) const {
  const double c = 14.2 / alpha + 386.0 / (1.0 + 69.9 * core::pow(q, 1.08));
  const double l = core::log(std::numbers::e + 1.8 * beta * q);
  return l / (l + c * q * q);
}

// Equations 17 and 18.
double Fit::cold_matter(double k) const {
  const double q = k / (13.41 * k_equality), f = 1.0 / (1.0 + core::pow(k * sound_horizon / 5.4, 4));
  return f * pressureless(q, 1.0, beta_c) + (1.0 - f) * pressureless(q, alpha_c, beta_c);
}

// Equations 21 and 22.
double Fit::baryons(double k) const {
  const double q = k / (13.41 * k_equality), ks = k * sound_horizon;
  const double shifted = k * sound_horizon / core::cbrt(1.0 + core::pow(beta_node / ks, 3));
  const double smooth = pressureless(q, 1.0, 1.0) / (1.0 + core::pow(ks / 5.2, 2));
  const double damped = alpha_b / (1.0 + core::pow(beta_b / ks, 3)) * core::exp(-core::pow(k / k_silk, 1.4));
  return (smooth + damped) * core::sin(shifted) / shifted;
}

}  // namespace

double eisenstein_hu_transfer(const CosmologyParameters& parameters, double k) {
  return k > 0.0 ? Fit(parameters).transfer(k) : 1.0;
}

LinearPower eisenstein_hu(const CosmologyParameters& parameters) {
  check(parameters);
  const auto shape = [fit = Fit(parameters), ns = parameters.ns](double k) {
    const double transfer = fit.transfer(k);
    return core::pow(k, ns) * transfer * transfer;
  };
  return LinearPower(shape, 1e-7, 1e5, parameters.ns).normalized(8.0 / parameters.hubble, parameters.sigma8);
}

}  // namespace sidestream::solvers
