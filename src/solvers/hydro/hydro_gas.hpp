#pragma once

// Scalar building blocks of the gas solver. They are inlined into loops over rows of cells, so that the compiler turns
// them into vector code: no branches, only selections.

#include <cmath>

#include "sidestream/core/symmetric.hpp"

namespace sidestream::solvers {

/// An ideal gas: combinations of gamma that the kernels need.
struct Gas {
  explicit Gas(double adiabatic_index)
      : gamma(adiabatic_index),
        gamma_1(gamma - 1.0),
        inverse_gamma_1(1.0 / gamma_1),
        minus(0.5 * (gamma - 1.0)),
        plus(0.5 * (gamma + 1.0)) {}

  double gamma, gamma_1, inverse_gamma_1;
  double minus, plus;  ///< (gamma - 1) / 2 and (gamma + 1) / 2
};

/// A predicted face value below this share of the cell's own value is not believed.
constexpr double least_share = 0.01;

/// Whether a cell lost nearly all of its mass or energy in the update.
[[gnu::always_inline]] inline bool is_healthy(double after, double before) {
  return after > least_share * before;
}

[[gnu::always_inline]] inline double smaller(double a, double b) {
  return a < b ? a : b;
}
[[gnu::always_inline]] inline double larger(double a, double b) {
  return a > b ? a : b;
}
[[gnu::always_inline]] inline double clamped(double a, double lo, double hi) {
  return smaller(larger(a, lo), hi);
}

using core::symmetric_sum;

/// Half of the squared momentum over the density.
[[gnu::always_inline]] inline double kinetic(double inverse_rho, double mx, double my, double mz) {
  return 0.5 * inverse_rho * symmetric_sum(mx * mx, my * my, mz * mz);
}

}  // namespace sidestream::solvers
