#include "sidestream/solvers/linear_power.hpp"

#include <cmath>
#include <numbers>

#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "solvers/universe/quadrature.hpp"

namespace sidestream::solvers {

namespace {

// The Fourier transform of a sphere of radius 1 and volume 1.
double top_hat(double x) {
  if (x < 0.02) return 1.0 - x * x / 10.0 * (1.0 - x * x / 28.0);
  return 3.0 * (core::sin(x) - x * core::cos(x)) / (x * x * x);
}

}  // namespace

LinearPower::LinearPower(std::function<double(double)> power, double k_min, double k_max, double ns)
    : power_(std::move(power)), k_min_(k_min), k_max_(k_max), ns_(ns) {}

double LinearPower::operator()(double k) const {
  if (!(k <= k_max_))
    throw core::Error("the linear power spectrum is asked for at k = " + std::to_string(k) + " / Mpc but ends at " +
                          std::to_string(k_max_) + " / Mpc",
                      "", "use a table that goes further, or power = \"eisenstein-hu\"");
  if (k <= 0.0) return 0.0;
  return k < k_min_ ? power_(k_min_) * core::pow(k / k_min_, ns_) : power_(k);
}

double LinearPower::sigma(double radius) const {
  // The top hat oscillates in k with the period 2 pi / radius; what lies beyond 300 / radius adds less than 1e-9.
  const double k_end = std::min(k_max_, 300.0 / radius);
  const auto variance_in_ln_k = [&](double ln_k) {
    const double k = core::exp(ln_k), window = top_hat(k * radius);
    return k * k * k * (*this)(std::min(k, k_max_)) * window * window;
  };
  const double from = core::log(1e-6), to = core::log(k_end);
  const int panels = 1 + static_cast<int>((to - from) / 0.05);
  const double variance = gauss_legendre(from, to, panels, variance_in_ln_k);
  return std::sqrt(variance / (2.0 * std::numbers::pi * std::numbers::pi));
}

LinearPower LinearPower::normalized(double radius, double value) const {
  const double ratio = value / sigma(radius);
  if (!std::isfinite(ratio))
    throw core::Error("the linear power spectrum of these parameters is not finite", "",
                      "look at omega_m, omega_b, hubble, ns and t_cmb");
  const auto scaled = [power = power_, factor = ratio * ratio](double k) { return factor * power(k); };
  return LinearPower(scaled, k_min_, k_max_, ns_);
}

LinearPower make_linear_power(const std::string& name, const CosmologyParameters& parameters) {
  if (name == "camb") return shipped_linear_power(parameters);
  if (name == "eisenstein-hu") return eisenstein_hu(parameters);
  return read_linear_power(name, parameters);
}

}  // namespace sidestream::solvers
