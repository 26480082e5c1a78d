#include "sidestream/solvers/background.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "solvers/universe/quadrature.hpp"

namespace sidestream::solvers {

namespace {

// All integrals run over s = sqrt(a): with a H = (H0 / s) sqrt(Om + Ok s^2 + OL s^6), their integrands are smooth down
// to s = 0.
int panels(double s0, double s1) {
  return 1 + static_cast<int>(std::abs(s1 - s0) / 0.125);
}

// Solves f(x) = 0 for a growing f by Newton's method, falling back on bisection of the bracket [low, high].
template <typename F, typename Slope>
double root(double low, double high, F f, Slope slope) {
  double x = 0.5 * (low + high);
  for (int iteration = 0; iteration < 200; ++iteration) {
    const double value = f(x);
    (value > 0.0 ? high : low) = x;
    const double newton = x - value / slope(x);
    const double next = newton >= low && newton <= high ? newton : 0.5 * (low + high);
    if (std::abs(next - x) <= 1e-10 * x) return next;  // Newton's method squares the error
    x = next;
  }
  return x;
}

// The first power-of-two multiple of `start` at which `f` is above zero.
template <typename F>
double bracket(double start, F f) {
  for (double high = start; high < 1e6 * start; high *= 2.0)
    if (f(high) > 0.0) return high;
  throw core::Error("the universe never gets as old as that", "", "the supercomoving time up to any moment is finite");
}

}  // namespace

Background::Background(const CosmologyParameters& parameters)
    : parameters_(parameters),
      omega_lambda_(parameters.lambda()),
      omega_k_(parameters.curvature()),
      hubble_constant_(parameters.hubble_constant()) {
  check(parameters);
  growth_today_ = 2.5 * parameters_.omega_m * hubble(1.0) / hubble_constant_ * growth_integral(1.0);
}

double Background::hubble(double a) const {
  return hubble_constant_ * std::sqrt((parameters_.omega_m / a + omega_k_) / (a * a) + omega_lambda_);
}

double Background::omega_m(double a) const {
  const double expansion = hubble(a) / hubble_constant_;
  return parameters_.omega_m / (a * a * a * expansion * expansion);
}

// a^3 E^2 as a function of s = sqrt(a).
static double reduced(double s, double omega_m, double omega_k, double omega_lambda) {
  const double a = s * s;
  return omega_m + omega_k * a + omega_lambda * a * a * a;
}

double Background::time(double a) const {
  const double s1 = std::sqrt(a);
  const auto integrand = [this](double s) {
    return 2.0 * s * s / std::sqrt(reduced(s, parameters_.omega_m, omega_k_, omega_lambda_));
  };
  return gauss_legendre(0.0, s1, panels(0.0, s1), integrand) / hubble_constant_;
}

double Background::scale_factor_at(double time_wanted) const {
  const auto excess = [&](double a) { return time(a) - time_wanted; };
  const double high = bracket(1e-3, excess);
  return root(1e-12, high, excess, [this](double a) { return 1.0 / (a * hubble(a)); });
}

double Background::kick_integral(double a0, double a1) const {
  const double s0 = std::sqrt(a0), s1 = std::sqrt(a1);
  const auto integrand = [this](double s) {
    return 2.0 / std::sqrt(reduced(s, parameters_.omega_m, omega_k_, omega_lambda_));
  };
  return gauss_legendre(s0, s1, panels(s0, s1), integrand) / hubble_constant_;
}

// Over r = 1/s, in which the integral of s^-2 ds is smooth at early times.
double Background::drift_integral(double a0, double a1) const {
  const double r0 = 1.0 / std::sqrt(a0), r1 = 1.0 / std::sqrt(a1);
  const auto integrand = [this](double r) {
    return 2.0 / std::sqrt(reduced(1.0 / r, parameters_.omega_m, omega_k_, omega_lambda_));
  };
  // Panels of equal ratios: the integrand varies on the scale of r itself where the cosmological constant matters.
  const int count = 1 + static_cast<int>(std::abs(core::log(r0 / r1)) / 0.2);
  const double ratio = core::pow(r0 / r1, 1.0 / count);
  double sum = 0.0;
  double lower = r1;
  for (int n = 0; n < count; ++n) {
    const double upper = n + 1 < count ? lower * ratio : r0;
    sum += gauss_legendre(lower, upper, integrand);
    lower = upper;
  }
  return sum / hubble_constant_;
}

double Background::scale_factor_after(double a0, double dtau) const {
  core::require(dtau >= 0.0, "supercomoving time runs forward");
  if (dtau == 0.0) return a0;
  const auto excess = [&](double a) { return drift_integral(a0, a) - dtau; };
  const double high = bracket(a0, excess);
  return root(0.5 * high, high, excess, [this](double a) { return 1.0 / (a * a * a * hubble(a)); });
}

double Background::growth_integral(double a) const {
  const double s1 = std::sqrt(a);
  const auto integrand = [this](double s) {
    const double r = reduced(s, parameters_.omega_m, omega_k_, omega_lambda_);
    return 2.0 * s * s * s * s / (r * std::sqrt(r));
  };
  return gauss_legendre(0.0, s1, panels(0.0, s1), integrand);
}

double Background::growth(double a) const {
  return 2.5 * parameters_.omega_m * hubble(a) / hubble_constant_ * growth_integral(a) / growth_today_;
}

double Background::growth_rate(double a) const {
  const double expansion = hubble(a) / hubble_constant_, squared = expansion * expansion;
  const double slope = (-1.5 * parameters_.omega_m / a - omega_k_) / (a * a * squared);
  return slope + 1.0 / (a * a * squared * expansion * growth_integral(a));
}

// Bouchet et al. 1995 (A&A 296, 575), equations 44 and 55, for flat universes.
double Background::second_order_growth(double a) const {
  const double first = growth(a);
  return -3.0 / 7.0 * first * first * core::pow(omega_m(a), -1.0 / 143.0);
}

double Background::second_order_growth_rate(double a) const {
  return 2.0 * core::pow(omega_m(a), 6.0 / 11.0);
}

LeapfrogStep leapfrog_step(const Background& background, double a0, double a1) {
  const double four_pi_g = 4.0 * std::numbers::pi * core::units::gravitational_constant;
  const double dtau = background.drift_integral(a0, a1);
  const double a_half = background.scale_factor_after(a0, 0.5 * dtau);
  return {a0,   a_half,
          a1,   four_pi_g * background.kick_integral(a0, a_half),
          dtau, four_pi_g * background.kick_integral(a_half, a1)};
}

}  // namespace sidestream::solvers
