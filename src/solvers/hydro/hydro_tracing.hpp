#pragma once

#include "solvers/hydro/hydro_gas.hpp"
#include "solvers/hydro/hydro_reconstruction.hpp"
#include "solvers/hydro/hydro_riemann.hpp"

/// What a cell sends to its faces in half a step (Colella & Woodward 1984, section 3; Colella 1990).
namespace sidestream::solvers {

/// The gas in a cell: density, velocity across the two faces and along them, pressure.
struct CellProfile {
  Parabola rho, u, v, w, p;
};

/// The sound in a cell.
struct SoundWaves {
  double c;                  ///< its speed
  double impedance;          ///< rho c
  double inverse_impedance;  ///< 1 / (rho c)
  double inverse_square;     ///< 1 / c^2
};

/// The cell widths that the waves u - c, u, u + c cover on the way to a face.
struct Reach {
  double minus, zero, plus;
};
[[gnu::always_inline]] inline Reach upper_reach(double u, double c, double dt_over_dx) {
  return {larger(u - c, 0.0) * dt_over_dx, larger(u, 0.0) * dt_over_dx, larger(u + c, 0.0) * dt_over_dx};
}
[[gnu::always_inline]] inline Reach lower_reach(double u, double c, double dt_over_dx) {
  return {larger(c - u, 0.0) * dt_over_dx, larger(-u, 0.0) * dt_over_dx, larger(-u - c, 0.0) * dt_over_dx};
}

/// At the upper face: averages over what each wave reaches. The state that u + c brings is taken as reference, the
/// other waves correct it.
[[gnu::always_inline]] inline Side upper_side(const CellProfile& gas, const SoundWaves& waves, double dt_over_dx) {
  const Parabola &rho = gas.rho, &u = gas.u, &p = gas.p;
  const Reach reach = upper_reach(u.mean, waves.c, dt_over_dx);
  const double rho_ref = rho.right_average(reach.plus), u_ref = u.right_average(reach.plus),
               p_ref = p.right_average(reach.plus);
  const double minus =
      0.5 * ((p_ref - p.right_average(reach.minus)) - waves.impedance * (u_ref - u.right_average(reach.minus)));
  const double zero =
      (rho_ref - rho.right_average(reach.zero)) - (p_ref - p.right_average(reach.zero)) * waves.inverse_square;
  const double strength_minus = u.mean - waves.c > 0.0 ? minus : 0.0, strength_zero = u.mean > 0.0 ? zero : 0.0;
  const double rho_face = rho_ref - (strength_zero + strength_minus * waves.inverse_square);
  const double p_face = p_ref - strength_minus;
  const bool good = is_healthy(rho_face, rho.mean) & is_healthy(p_face, p.mean);
  return {good ? rho_face : rho.mean, good ? u_ref + strength_minus * waves.inverse_impedance : u.mean,
          gas.v.right_average(reach.zero), gas.w.right_average(reach.zero), good ? p_face : p.mean};
}

/// At the lower face, mirrored.
[[gnu::always_inline]] inline Side lower_side(const CellProfile& gas, const SoundWaves& waves, double dt_over_dx) {
  const Parabola &rho = gas.rho, &u = gas.u, &p = gas.p;
  const Reach reach = lower_reach(u.mean, waves.c, dt_over_dx);
  const double rho_ref = rho.left_average(reach.minus), u_ref = u.left_average(reach.minus),
               p_ref = p.left_average(reach.minus);
  const double plus =
      0.5 * ((p_ref - p.left_average(reach.plus)) + waves.impedance * (u_ref - u.left_average(reach.plus)));
  const double zero =
      (rho_ref - rho.left_average(reach.zero)) - (p_ref - p.left_average(reach.zero)) * waves.inverse_square;
  const double strength_plus = u.mean + waves.c < 0.0 ? plus : 0.0, strength_zero = u.mean < 0.0 ? zero : 0.0;
  const double rho_face = rho_ref - (strength_zero + strength_plus * waves.inverse_square);
  const double p_face = p_ref - strength_plus;
  const bool good = is_healthy(rho_face, rho.mean) & is_healthy(p_face, p.mean);
  return {good ? rho_face : rho.mean, good ? u_ref - strength_plus * waves.inverse_impedance : u.mean,
          gas.v.left_average(reach.zero), gas.w.left_average(reach.zero), good ? p_face : p.mean};
}

}  // namespace sidestream::solvers
