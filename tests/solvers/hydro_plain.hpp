#pragma once

// The plain twin of the gas solver: one cell at a time, each quantity computed anew from its definition wherever it is
// needed. Slow, and as short as the method is.

#include <array>
#include <functional>

#include "sidestream/mesh/box.hpp"
#include "solvers/hydro/hydro_riemann.hpp"

namespace sidestream::test {

/// One step of corner transport upwind with piecewise parabolic reconstruction on a mesh of three active axes.
class PlainHydro {
 public:
  using Cell = mesh::Int3;
  using Vector = std::array<double, 5>;       // mass, momentum, total energy; or density, velocity, pressure
  using State = std::function<Vector(Cell)>;  // primitive variables of any cell

  struct Flux {
    Vector conserved;
    double u, p, internal;
  };

  PlainHydro(double gamma, std::array<double, 3> dt_over_dx, bool is_hllc, bool flattening, State state)
      : gas_(gamma), ratio_(dt_over_dx), is_hllc_(is_hllc), flattening_(flattening), state_(std::move(state)) {}

  /// The flux through the face normal to `axis` below `cell`, from states corrected along both other axes.
  Flux flux(int axis, Cell cell) const {
    const int b = (axis + 1) % 3, c = (axis + 2) % 3;
    const auto face_state = [&](Cell at, int side) {
      return corrected(traced(axis, at, side), {change(b, at, 0.5, [&](Cell f) { return second_flux(b, c, f); }),
                                                change(c, at, 0.5, [&](Cell f) { return second_flux(c, b, f); })});
    };
    return solve(axis, face_state(next(cell, axis, -1), 1), face_state(cell, 0), true);
  }

  /// The conserved variables of a cell (without internal energy) after the step.
  Vector advanced(Cell cell) const {
    const Vector w = state_(cell);
    Vector u{w[0], w[0] * w[1], w[0] * w[2], w[0] * w[3],
             w[4] / (gas_.gamma - 1.0) + 0.5 * w[0] * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3])};
    for (int axis = 0; axis < 3; ++axis) {
      const Flux lower = flux(axis, cell), upper = flux(axis, next(cell, axis, 1));
      for (std::size_t n = 0; n < 5; ++n) u[n] -= ratio(axis) * (upper.conserved[n] - lower.conserved[n]);
    }
    return u;
  }

  /// The state that `cell` sends to its lower (side 0) or upper (1) face normal to `axis`.
  Vector traced(int axis, Cell cell, int side) const {
    const std::size_t normal = static_cast<std::size_t>(1 + axis);
    const Vector mean = state_(cell);
    const double c = std::sqrt(gas_.gamma * mean[4] / mean[0]), rho = mean[0], u = mean[normal];
    const double direction = side == 1 ? 1.0 : -1.0;
    const auto average = [&](double speed) {  // over what a wave of this speed carries to the face
      const double s = std::max(direction * speed, 0.0) * ratio(axis);
      Vector result{};
      for (std::size_t n = 0; n < 5; ++n) {
        const auto [left, right] = parabola_faces(axis, cell, n);
        const double jump = right - left, curvature = 6.0 * (mean[n] - 0.5 * (left + right));
        result[n] = side == 1 ? right - 0.5 * s * (jump - (1.0 - 2.0 * s / 3.0) * curvature)
                              : left + 0.5 * s * (jump + (1.0 - 2.0 * s / 3.0) * curvature);
      }
      return result;
    };
    const Vector reference = average(u + direction * c), by_zero = average(u), by_other = average(u - direction * c);
    Vector face = reference;
    for (std::size_t n = 1; n < 4; ++n)
      if (n != normal) face[n] = by_zero[n];
    if (direction * u > 0.0) face[0] -= (reference[0] - by_zero[0]) - (reference[4] - by_zero[4]) / (c * c);
    if (direction * (u - direction * c) > 0.0) {
      const double dp = reference[4] - by_other[4], du = reference[normal] - by_other[normal];
      const double strength = (dp / (rho * c) - direction * du) * rho / (2.0 * c);
      face[0] -= strength;
      face[normal] += direction * strength * c / rho;
      face[4] -= strength * c * c;
    }
    const bool good = face[0] > solvers::least_share * rho && face[4] > solvers::least_share * mean[4];
    for (const std::size_t n : {std::size_t{0}, normal, std::size_t{4}})
      if (!good) face[n] = mean[n];
    return face;
  }

 private:
  using Change = Vector;

  static Cell next(Cell cell, int axis, int by) {
    cell[axis] += by;
    return cell;
  }
  double ratio(int axis) const { return ratio_[static_cast<std::size_t>(axis)]; }
  double value(Cell cell, std::size_t n) const { return state_(cell)[n]; }

  double slope(int axis, Cell cell, std::size_t n) const {
    const double left = value(next(cell, axis, -1), n), mean = value(cell, n), right = value(next(cell, axis, 1), n);
    if ((mean - left) * (right - mean) <= 0.0) return 0.0;
    const double size =
        std::min(0.5 * std::fabs(right - left), 2.0 * std::min(std::fabs(right - mean), std::fabs(mean - left)));
    return right > left ? size : -size;
  }
  double shock(int axis, Cell cell) const {
    const auto p = [&](int by) { return value(next(cell, axis, by), 4); };
    const auto u = [&](int by) { return value(next(cell, axis, by), static_cast<std::size_t>(1 + axis)); };
    const double inner = std::fabs(p(1) - p(-1)), outer = std::fabs(p(2) - p(-2)), fall = u(-1) - u(1);
    const int ahead = p(1) < p(-1) ? 1 : -1;
    const double rho = value(next(cell, axis, ahead), 0), sound = std::sqrt(gas_.gamma * p(ahead) / rho);
    if (fall <= sound || inner >= 1.1 * outer) return 0.0;
    const double mass_flux =
        std::sqrt(rho * (0.5 * (gas_.gamma - 1.0) * p(ahead) + 0.5 * (gas_.gamma + 1.0) * p(-ahead)));
    if (inner <= 0.5 * mass_flux * fall) return 0.0;
    return std::clamp(10.0 * (inner / outer - 0.75), 0.0, 1.0);
  }
  double steepness(int axis, Cell cell) const {
    if (!flattening_) return 1.0;
    const Cell below = next(cell, axis, -1), above = next(cell, axis, 1);
    double strength = shock(axis, cell);
    if (value(above, 4) < value(below, 4)) strength = std::max(strength, shock(axis, above));
    if (value(below, 4) < value(above, 4)) strength = std::max(strength, shock(axis, below));
    return 1.0 - strength;
  }
  std::array<double, 2> parabola_faces(int axis, Cell cell, std::size_t n) const {
    const auto at = [&](int by) { return value(next(cell, axis, by), n); };
    const auto slope_at = [&](int by) { return slope(axis, next(cell, axis, by), n); };
    const double a = at(0);
    double left = 0.5 * (at(-1) + a) - (slope_at(0) - slope_at(-1)) / 6.0,
           right = 0.5 * (a + at(1)) - (slope_at(1) - slope_at(0)) / 6.0;
    const double jump = right - left, bend = jump * (a - 0.5 * (left + right));
    if ((right - a) * (a - left) <= 0.0)
      left = right = a;
    else if (bend > jump * jump / 6.0)
      left = 3.0 * a - 2.0 * right;
    else if (bend < -jump * jump / 6.0)
      right = 3.0 * a - 2.0 * left;
    const double f = steepness(axis, cell);
    return {f * left + (1.0 - f) * a, f * right + (1.0 - f) * a};
  }

  Flux solve(int axis, const Vector& left, const Vector& right, bool is_final) const {
    const auto n = static_cast<std::size_t>(1 + axis), t = static_cast<std::size_t>(1 + (axis + 1) % 3),
               s = static_cast<std::size_t>(1 + (axis + 2) % 3);
    const auto side = [&](const Vector& w) { return solvers::Side{w[0], w[n], w[t], w[s], w[4]}; };
    const solvers::Face face = is_hllc_ ? solvers::hllc(gas_, side(left), side(right))
                               : is_final
                                   ? solvers::two_shock(gas_, side(left), side(right), solvers::final_iterations)
                                   : solvers::two_shock(gas_, side(left), side(right), solvers::predictor_iterations);
    Flux flux{{}, face.u, face.p, 0.0};
    flux.conserved[0] = face.rho * face.u;
    flux.conserved[n] = face.rho * face.u * face.u + face.p;
    flux.conserved[t] = face.rho * face.u * face.v;
    flux.conserved[s] = face.rho * face.u * face.w;
    flux.conserved[4] = face.u * (face.energy + face.p);
    flux.internal = face.rho * face.u * face.internal_energy;
    return flux;
  }

  Flux first_flux(int axis, Cell cell) const {
    return solve(axis, traced(axis, next(cell, axis, -1), 1), traced(axis, cell, 0), false);
  }
  Flux second_flux(int axis, int along, Cell cell) const {
    const auto face_state = [&](Cell at, int side) {
      return corrected(traced(axis, at, side),
                       {change(along, at, 1.0 / 3.0, [&](Cell f) { return first_flux(along, f); })});
    };
    return solve(axis, face_state(next(cell, axis, -1), 1), face_state(cell, 0), false);
  }

  /// Change of mass, momentum and pressure by the fluxes through the two faces of a cell.
  template <typename F>
  Change change(int axis, Cell cell, double share, F flux_at) const {
    const Flux lower = flux_at(cell), upper = flux_at(next(cell, axis, 1));
    Change result{};
    for (std::size_t n = 0; n < 4; ++n) result[n] = -share * ratio(axis) * (upper.conserved[n] - lower.conserved[n]);
    result[4] =
        -share * ratio(axis) *
        (upper.p * upper.u - lower.p * lower.u + (gas_.gamma - 1.0) * 0.5 * (upper.p + lower.p) * (upper.u - lower.u));
    return result;
  }
  static Vector corrected(Vector w, std::initializer_list<Change> changes) {
    Vector u{w[0], w[0] * w[1], w[0] * w[2], w[0] * w[3], w[4]};
    for (const Change& change : changes)
      for (std::size_t n = 0; n < 5; ++n) u[n] += change[n];
    if (u[0] <= solvers::least_share * w[0] || u[4] <= solvers::least_share * w[4]) return w;
    return {u[0], u[1] / u[0], u[2] / u[0], u[3] / u[0], u[4]};
  }

  solvers::Gas gas_;
  std::array<double, 3> ratio_;
  bool is_hllc_, flattening_;
  State state_;
};

}  // namespace sidestream::test
