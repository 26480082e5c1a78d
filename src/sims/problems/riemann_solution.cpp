#include "sims/problems/riemann_solution.hpp"

#include <algorithm>
#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::sims {

namespace {

double sound_speed(const RiemannState& gas, double gamma) {
  return std::sqrt(gamma * gas.p / gas.rho);
}

/// The velocity that a wave into `gas` with the pressure `p` behind it gives, and its derivative by p (Toro 2009, eq.
/// 4.6 and 4.37).
struct WaveVelocity {
  double value, slope;
};
WaveVelocity wave_velocity(const RiemannState& gas, double gamma, double p) {
  if (p > gas.p) {
    const double a = 2.0 / ((gamma + 1.0) * gas.rho), b = (gamma - 1.0) / (gamma + 1.0) * gas.p;
    const double root = std::sqrt(a / (p + b));
    return {(p - gas.p) * root, root * (1.0 - 0.5 * (p - gas.p) / (p + b))};
  }
  const double c = sound_speed(gas, gamma), ratio = p / gas.p;
  return {2.0 * c / (gamma - 1.0) * (core::pow(ratio, (gamma - 1.0) / (2.0 * gamma)) - 1.0),
          core::pow(ratio, -(gamma + 1.0) / (2.0 * gamma)) / (gas.rho * c)};
}

/// Speed of the head of the wave that faces left.
double front(const RiemannState& gas, double gamma, double p) {
  const double c = sound_speed(gas, gamma);
  if (p <= gas.p) return gas.u - c;
  return gas.u - c * std::sqrt((gamma + 1.0) / (2.0 * gamma) * (p / gas.p) + (gamma - 1.0) / (2.0 * gamma));
}

/// The gas at `speed` to the left of the contact, with the wave that faces left.
RiemannState left_of_contact(const RiemannState& gas, double gamma, double p, double u, double speed) {
  const double c = sound_speed(gas, gamma), ratio = p / gas.p, plus = gamma + 1.0, minus = gamma - 1.0;
  if (speed <= front(gas, gamma, p)) return gas;
  if (p > gas.p) return {gas.rho * (ratio + minus / plus) / (minus / plus * ratio + 1.0), u, p};
  const double tail_c = c * core::pow(ratio, minus / (2.0 * gamma));
  if (speed >= u - tail_c) return {gas.rho * core::pow(ratio, 1.0 / gamma), u, p};
  const double inside = 2.0 / plus + minus / (plus * c) * (gas.u - speed);
  return {gas.rho * core::pow(inside, 2.0 / minus), 2.0 / plus * (c + 0.5 * minus * gas.u + speed),
          gas.p * core::pow(inside, 2.0 * gamma / minus)};
}

RiemannState mirrored(const RiemannState& gas) {
  return {gas.rho, -gas.u, gas.p};
}

}  // namespace

bool RiemannSolution::forms_vacuum(const RiemannState& left, const RiemannState& right, double gamma) {
  return right.u - left.u >= 2.0 / (gamma - 1.0) * (sound_speed(left, gamma) + sound_speed(right, gamma));
}

RiemannSolution::RiemannSolution(const RiemannState& left, const RiemannState& right, double gamma)
    : left_(left), right_(right), gamma_(gamma) {
  core::require(!forms_vacuum(left, right, gamma), "a vacuum forms between the gases");
  // The function is concave and rises: once below the root, Newton's steps approach it from below.
  constexpr int most_steps = 100;
  p_ = 0.5 * (left.p + right.p);
  for (int step = 0; step < most_steps; ++step) {
    const WaveVelocity l = wave_velocity(left, gamma, p_), r = wave_velocity(right, gamma, p_);
    const double next = p_ - (l.value + r.value + (right.u - left.u)) / (l.slope + r.slope);
    const double change = std::fabs(next - p_);
    p_ = std::max(next, 1e-3 * p_);
    if (change <= 1e-15 * p_) break;
  }
  u_ = 0.5 * (left.u + right.u) + 0.5 * (wave_velocity(right, gamma, p_).value - wave_velocity(left, gamma, p_).value);
}

double RiemannSolution::left_front() const {
  return front(left_, gamma_, p_);
}
double RiemannSolution::right_front() const {
  return -front(mirrored(right_), gamma_, p_);
}

RiemannState RiemannSolution::at(double speed) const {
  if (speed <= u_) return left_of_contact(left_, gamma_, p_, u_, speed);
  return mirrored(left_of_contact(mirrored(right_), gamma_, p_, -u_, -speed));
}

double RiemannSolution::mean_density(double lo, double hi, double time) const {
  constexpr int points = 64;
  double sum = 0.0;
  for (int n = 0; n < points; ++n) sum += at((lo + (n + 0.5) / points * (hi - lo)) / time).rho;
  return sum / points;
}

}  // namespace sidestream::sims
