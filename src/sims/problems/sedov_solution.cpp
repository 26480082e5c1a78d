#include "sims/problems/sedov_solution.hpp"

#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::sims {

namespace {

/// Simpson's rule with `intervals` (even) pieces of [0, 1].
template <typename F>
double integral(int intervals, F f) {
  double sum = f(0.0) + f(1.0);
  for (int n = 1; n < intervals; ++n) sum += (n % 2 == 1 ? 4.0 : 2.0) * f(static_cast<double>(n) / intervals);
  return sum / (3.0 * intervals);
}

}  // namespace

bool SedovSolution::exists(double gamma) {
  return gamma > 1.0 && gamma < 7.0 && std::fabs(gamma - 2.0) > 1e-6;
}

// Kamm & Timmes 2007, eq. 33 to 47 for uniform ambient gas.
SedovSolution::SedovSolution(int dimensions, double gamma) : dimensions_(dimensions), gamma_(gamma) {
  core::require((dimensions == 2 || dimensions == 3) && exists(gamma),
                "the blast wave is known in two and three dimensions, for gamma in (1, 7) other than 2");
  const double j = dimensions, s = j + 2.0;
  a0_ = 2.0 / s;
  a2_ = -(gamma - 1.0) / (2.0 * (gamma - 1.0) + j);
  a1_ = s * gamma / (2.0 + j * (gamma - 1.0)) * (2.0 * j * (2.0 - gamma) / (gamma * s * s) - a2_);
  a3_ = j / (2.0 * (gamma - 1.0) + j);
  a4_ = a1_ * s / (2.0 - gamma);
  a5_ = -2.0 / (2.0 - gamma);

  // The energy inside the shock fixes its radius. With xi = x^2 the integrand is smooth enough at the centre.
  const double shares = integral(4096, [&](double x) {
    const double xi = x * x;
    const Profile gas = at(xi);
    const double density = 0.5 * gas.rho * gas.u * gas.u + gas.p / (gamma - 1.0);
    return density * core::pow(xi, j - 1.0) * 2.0 * x;
  });
  const double sphere = dimensions == 3 ? 4.0 * M_PI : 2.0 * M_PI;
  const double alpha = sphere * a0_ * a0_ * shares;
  beta_ = core::pow(alpha, -1.0 / s);
}

double SedovSolution::shock_radius(double energy, double rho, double time) const {
  return beta_ * core::pow(energy * time * time / rho, 1.0 / (dimensions_ + 2.0));
}

// The curve is followed by y = x2^(-a2), which is 0 at the centre, 1 at the shock and nearly proportional to xi: so
// nothing cancels at the centre.
SedovSolution::Point SedovSolution::point(double y) const {
  const double j = dimensions_, s = j + 2.0, plus = gamma_ + 1.0, minus = gamma_ - 1.0;
  const double x2 = core::pow(y, -1.0 / a2_), w = x2 * minus / plus;  // w = c V - 1
  const double v = (1.0 + w) * 2.0 / (s * gamma_);
  const double x1 = 0.25 * s * plus * v;
  const double x3 = s * plus / (s * plus - 2.0 * (2.0 + j * minus)) * (1.0 - 0.5 * (2.0 + j * minus) * v);
  const double x4 = plus / minus * (minus - w) / gamma_;
  const double xi = core::pow(x1, -a0_) * core::pow(x3, -a1_) * y;
  const double rho = core::pow(x2, a3_) * core::pow(x3, a4_) * core::pow(x4, a5_);
  const double p = core::pow(x1, a0_ * j) * core::pow(x3, a4_ - 2.0 * a1_) * core::pow(x4, 1.0 + a5_);
  return {xi, {plus / minus * rho, 2.0 / plus * x1 * xi, 2.0 / plus * p}};
}

SedovSolution::Profile SedovSolution::at(double xi) const {
  if (xi > 1.0) return {1.0, 0.0, 0.0};
  // Regula falsi with the Illinois rule (an end that stays twice counts half): xi rises with y from 0 to 1.
  double low = 0.0, high = 1.0, low_error = -xi, high_error = 1.0 - xi;
  bool low_stayed = false, high_stayed = false;
  constexpr int most_steps = 60;
  for (int step = 0; step < most_steps && low_error != 0.0 && high_error != 0.0; ++step) {
    const double y = (low * high_error - high * low_error) / (high_error - low_error);
    const Point here = point(y);
    const double error = here.xi - xi;
    if (std::fabs(error) <= 1e-15 * xi) return here.profile;
    if (error > 0.0) {
      high = y, high_error = error;
      if (low_stayed) low_error *= 0.5;
    } else {
      low = y, low_error = error;
      if (high_stayed) high_error *= 0.5;
    }
    low_stayed = error > 0.0;
    high_stayed = !low_stayed;
  }
  return point(std::fabs(high_error) < std::fabs(low_error) ? high : low).profile;
}

}  // namespace sidestream::sims
