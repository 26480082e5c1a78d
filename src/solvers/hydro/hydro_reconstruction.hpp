#pragma once

#include "solvers/hydro/hydro_gas.hpp"

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

/// Density, velocity and pressure beside a cell.
struct Beside {
  double rho, u, p;
};

/// 1 in a strong shock, 0 elsewhere, from the gas in the cells `b` below and `d` above and the pressures in the next
/// ones (Colella & Woodward 1984, appendix). A shock here is a jump
/// - by which the velocity falls by more than the speed of sound of the gas ahead: not a sound wave or an atmosphere;
/// - to which belongs at least half of the jump of pressure that it has in a shock, W du with
///   W^2 = rho ((gamma - 1) p / 2 + (gamma + 1) p' / 2) for gas ahead of density rho and pressure p and a pressure p'
///   behind: not cold gas that is pressed together smoothly, whose pressure has no part in its motion;
/// - behind which the pressure stays: not a sheet or a halo of three cells, which would be smeared out altogether.
[[gnu::always_inline]] inline double shock_strength(const Gas& gas, double p_a, const Beside& b, const Beside& d,
                                                    double p_e) {
  const double inner = std::fabs(d.p - b.p), outer = std::fabs(p_e - p_a), fall = b.u - d.u;
  const double ahead = smaller(b.p, d.p), behind = larger(b.p, d.p), rho = b.p < d.p ? b.rho : d.rho;
  const double square = rho * (fall * fall);
  const bool is_shock = (fall > 0.0) & (square > gas.gamma * ahead) & (inner < 1.1 * outer) &
                        (4.0 * (inner * inner) > (gas.minus * ahead + gas.plus * behind) * square);
  const double ratio = inner / larger(outer, 1e-100 + 1e-10 * inner);
  return is_shock ? clamped(10.0 * (ratio - 0.75), 0.0, 1.0) : 0.0;
}

/// As `shock_strength`, in any compression with a jump of pressure of more than a third (Colella & Woodward 1984,
/// appendix, with the constants of Nyx).
[[gnu::always_inline]] inline double compression_strength(double p_a, const Beside& b, const Beside& d, double p_e) {
  const double inner = std::fabs(d.p - b.p), outer = std::fabs(p_e - p_a);
  const bool is_compressed = (b.u > d.u) & (inner > 0.33 * smaller(b.p, d.p));
  const double ratio = inner / larger(outer, 1e-100 + 1e-10 * inner);
  return is_compressed ? clamped(10.0 * (ratio - 0.75), 0.0, 1.0) : 0.0;
}

/// A velocity at two places.
struct Fall {
  double below, above;

  [[gnu::always_inline]] double height() const { return below - above; }
};

/// Whether a velocity falls as in a shock: at least two thirds of the difference over some cells, `outer`, lie in their
/// middle half, `inner`. In flow that converges evenly it is half.
[[gnu::always_inline]] inline bool falls_steeply(const Fall& outer, const Fall& inner) {
  return (inner.height() > 0.0) & (3.0 * inner.height() > 2.0 * std::fabs(outer.height()));
}

}  // namespace sidestream::solvers
