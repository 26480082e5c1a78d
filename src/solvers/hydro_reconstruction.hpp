#pragma once

#include "solvers/hydro_gas.hpp"

namespace sidestream::solvers {

/// A parabola in a cell that has the cell's average (Colella & Woodward 1984, eq. 1.4): what it rises from the lower
/// face to the average, and from there to the upper face.
struct Parabola {
  double mean, below, above;

  /// Average over the part of the cell within `s` cell widths of the right face, 0 <= s <= 1 (eq. 1.12).
  [[gnu::always_inline]] double right_average(double s) const {
    return (mean + above) - 0.5 * s * ((below + above) - (1.0 - (2.0 / 3.0) * s) * curvature());
  }
  /// The same at the left face.
  [[gnu::always_inline]] double left_average(double s) const {
    return (mean - below) + 0.5 * s * ((below + above) + (1.0 - (2.0 / 3.0) * s) * curvature());
  }
  [[gnu::always_inline]] double curvature() const { return 3.0 * (below - above); }
};

/// Central difference, limited by twice the one-sided ones; zero at an extremum (eq. 1.8).
[[gnu::always_inline]] inline double limited_slope(double left, double mean, double right) {
  const double below = mean - left, above = right - mean;
  const double central = 0.5 * (below + above);
  const double size = smaller(std::fabs(central), 2.0 * smaller(std::fabs(below), std::fabs(above)));
  return below * above > 0.0 ? std::copysign(size, central) : 0.0;
}

/// A value of the cell below, here and in the cell above.
struct Three {
  double below, here, above;
};

/// The monotone parabola of a cell from the averages and the limited slopes there and beside it, moved towards the mean
/// by (1 - `steepness`).
[[gnu::always_inline]] inline Parabola parabola(const Three& average, const Three& slope, double steepness) {
  const double below = 0.5 * (average.here - average.below) + (slope.here - slope.below) * (1.0 / 6.0);
  const double above = 0.5 * (average.above - average.here) + (slope.here - slope.above) * (1.0 / 6.0);

  // Eq. 1.10: no new extremum at the faces, and none inside, where one rise is more than twice the other.
  const double steep = below * above > 0.0 ? steepness : 0.0;
  const double below_size = std::fabs(below), above_size = std::fabs(above);
  return {average.here, steep * std::copysign(smaller(below_size, 2.0 * above_size), below),
          steep * std::copysign(smaller(above_size, 2.0 * below_size), above)};
}

/// 1 in a strong shock, 0 in smooth flow, from five pressures and the velocities beside the cell (Colella & Woodward
/// 1984, appendix).
[[gnu::always_inline]] inline double shock_strength(double p_a, double p_b, double p_d, double p_e, double u_b,
                                                    double u_d) {
  const double inner = std::fabs(p_d - p_b), outer = std::fabs(p_e - p_a);
  const bool is_shock = inner > (1.0 / 3.0) * smaller(p_b, p_d) && u_b > u_d;
  const double ratio = inner / larger(outer, 1e-100 + 1e-10 * inner);
  return is_shock ? clamped(10.0 * (ratio - 0.75), 0.0, 1.0) : 0.0;
}

}  // namespace sidestream::solvers
