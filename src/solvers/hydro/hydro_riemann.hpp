#pragma once

#include "solvers/hydro/hydro_gas.hpp"

namespace sidestream::solvers {

/// Newton steps of the two-shock solver: in the predictor, and for the final flux.
constexpr int predictor_iterations = 1, final_iterations = 3;

/// Gas at one side of a face: density, velocity across the face and along it, pressure.
struct Side {
  double rho, u, v, w, p;
};

/// Gas in the face, and what it carries through.
struct Face {
  double rho, u, v, w, p;
  double energy;           ///< total energy per volume
  double internal_energy;  ///< per mass, of the side that the gas comes from: not heated by the waves
};

/// Pressure and velocity between the two waves.
struct Middle {
  double p, u;
};

/// The pressure between acoustic waves in the mean gas (Toro 2009, eq. 9.28).
[[gnu::always_inline]] inline double acoustic_pressure(const Gas& gas, const Side& l, const Side& r) {
  const double mean_impedance = 0.5 * std::sqrt(gas.gamma * (l.p + r.p) * (l.rho + r.rho));
  return larger(0.5 * ((l.p + r.p) - (r.u - l.u) * mean_impedance), 1e-6 * smaller(l.p, r.p));
}

/// A step of Newton's method, from `p` on, for the pressure between two waves that are both taken as shocks (Colella &
/// Glaz 1985), and the velocity that goes with the new pressure. The velocity jump is an increasing concave function of
/// the pressure, so that the iteration climbs to the root from below without overshooting. Symmetric in the two sides
/// to the bit. Square roots and divisions are most of the cost: numerator and denominator are multiplied by powers of
/// the mass fluxes W = rho c, so that a step takes one division (any units in which W is between 1e-40 and 1e40 will
/// do).
[[gnu::always_inline]] inline Middle two_shock_step(const Gas& gas, const Side& l, const Side& r, double p) {
  const double l_sound = gas.gamma * l.p * l.rho, r_sound = gas.gamma * r.p * r.rho;  // (rho c)^2
  const double l_square = l.rho * (gas.minus * l.p + gas.plus * p), r_square = r.rho * (gas.minus * r.p + gas.plus * p);
  const double l_w = std::sqrt(l_square), r_w = std::sqrt(r_square),
               both = l_w * r_w;                                    // mass fluxes through the shocks
  const double l_jump = (p - l.p) * r_w, r_jump = (p - r.p) * l_w;  // of velocity, times `both`
  const double l_slope = (l_square + l_sound) * (r_square * r_w), r_slope = (r_square + r_sound) * (l_square * l_w);
  const double inverse = 1.0 / (both * (l_slope + r_slope));
  const double step = 2.0 * (both * both * both) * ((r.u - l.u) * both + (l_jump + r_jump)) * inverse;
  const double u = ((l.u * both - l_jump) * r_slope + (r.u * both + r_jump) * l_slope) * inverse;
  return {larger(p - step, 1e-6 * smaller(l.p, r.p)), u};
}

/// Pressure and velocity between two shocks after `iterations` steps.
inline Middle two_shock_middle(const Gas& gas, const Side& l, const Side& r, int iterations) {
  Middle middle{acoustic_pressure(gas, l, r), 0.0};
  for (int iteration = 0; iteration < iterations; ++iteration) middle = two_shock_step(gas, l, r, middle.p);
  return middle;
}

/// The gas that flows into a face: that of the side the middle moves away from.
struct Upstream {
  Upstream(const Side& l, const Side& r, double middle_u)
      : from_left(middle_u > 0.0),
        rho(from_left ? l.rho : r.rho),
        u(from_left ? l.u : r.u),
        p(from_left ? l.p : r.p),
        away(from_left ? -rho : rho) {}

  bool from_left;
  double rho, u, p;
  double away;  ///< times a velocity: the mass flux away from the middle
};

/// The wave towards that side. Speeds c are taken as mass fluxes rho c of the gas ahead: so one root and one division
/// are enough.
struct Fan {
  double share;             ///< of the face that the gas in the middle has; the rest is as ahead of the wave
  double inverse_thinning;  ///< what makes the density of the middle
};
[[gnu::always_inline]] inline Fan two_shock_fan(const Gas& gas, const Side& l, const Side& r, const Middle& middle) {
  const Upstream from(l, r, middle.u);
  const double rise = from.away * (middle.u - from.u);

  // `head` and `tail` are the ends of the wave; they are one in a shock. The sound falls by a Riemann invariant.
  const bool is_shock = middle.p > from.p;
  const double dense = gas.minus * from.p + gas.plus * middle.p, sound_square = gas.gamma * from.p;
  const double ahead = std::sqrt(from.rho * (is_shock ? dense : sound_square));
  const double behind = larger(ahead + gas.minus * rise, 0.1 * ahead);  // in a rarefaction
  const double head = ahead + from.away * from.u;
  const double tail = is_shock ? head : behind + from.away * middle.u;
  const double width = larger(head - tail, 1e-20 * ahead);

  // At rest the middle has all of the face: no side is the one that the gas comes from. Where cold streams meet, the
  // pressure after a few steps may be too small to drive the waves away from the face.
  const double thinning = is_shock ? gas.minus * middle.p + gas.plus * from.p : behind * behind;
  const double inverse = 1.0 / (thinning * width);
  return {middle.u == 0.0 ? 1.0 : clamped(head * (thinning * inverse), 0.0, 1.0), width * inverse};
}

/// The state in the face (at x = 0) between two waves with the gas `middle` between them; inside a rarefaction, between
/// its ends linearly.
[[gnu::always_inline]] inline Face two_shock_face(const Gas& gas, const Side& l, const Side& r, const Middle& middle,
                                                  const Fan& fan) {
  const Upstream from(l, r, middle.u);

  // The gas in the middle, after a shock by the jump conditions, after a rarefaction by p / rho = c^2 / gamma.
  const bool is_shock = middle.p > from.p;
  const double dense = gas.minus * from.p + gas.plus * middle.p;
  const double squeezed = from.rho * ((is_shock ? dense : from.rho * (gas.gamma * middle.p)) * fan.inverse_thinning);
  const double middle_rho = is_shock ? squeezed : smaller(squeezed, from.rho);
  const double share = fan.share;

  Face face;
  face.rho = (1.0 - share) * from.rho + share * middle_rho;
  face.u = (1.0 - share) * from.u + share * middle.u;
  face.p = (1.0 - share) * from.p + share * middle.p;
  face.v = from.from_left ? l.v : r.v;
  face.w = from.from_left ? l.w : r.w;
  face.energy = gas.inverse_gamma_1 * face.p + 0.5 * face.rho * (face.u * face.u + (face.v * face.v + face.w * face.w));
  face.internal_energy = gas.inverse_gamma_1 * from.p / from.rho;
  return face;
}

/// All of the above.
inline Face two_shock(const Gas& gas, const Side& l, const Side& r, int iterations) {
  const Middle middle = two_shock_middle(gas, l, r, iterations);
  return two_shock_face(gas, l, r, middle, two_shock_fan(gas, l, r, middle));
}

/// HLLC (Toro, Spruce & Speares 1994) with the wave speeds of Einfeldt and Batten: the extremes of those of the sides
/// and of Roe's average. The flux in the middle is written as that of a gas with the velocity and pressure of the
/// contact.
[[gnu::always_inline]] inline Face hllc(const Gas& gas, const Side& l, const Side& r) {
  const double l_kinetic = 0.5 * (l.u * l.u + (l.v * l.v + l.w * l.w));
  const double r_kinetic = 0.5 * (r.u * r.u + (r.v * r.v + r.w * r.w));
  const double l_energy = gas.inverse_gamma_1 * l.p + l.rho * l_kinetic;
  const double r_energy = gas.inverse_gamma_1 * r.p + r.rho * r_kinetic;

  // Roe's average of velocity and enthalpy.
  const double l_root = std::sqrt(l.rho), r_root = std::sqrt(r.rho);
  const double inverse_roots = 1.0 / (l_root + r_root), l_rho_inverse = 1.0 / l.rho, r_rho_inverse = 1.0 / r.rho;
  const double roe_u = (l_root * l.u + r_root * r.u) * inverse_roots,
               roe_v = (l_root * l.v + r_root * r.v) * inverse_roots,
               roe_w = (l_root * l.w + r_root * r.w) * inverse_roots;
  const double roe_h =
      (l_root * ((l_energy + l.p) * l_rho_inverse) + r_root * ((r_energy + r.p) * r_rho_inverse)) * inverse_roots;
  const double l_c2 = gas.gamma * l.p * l_rho_inverse, r_c2 = gas.gamma * r.p * r_rho_inverse;
  const double roe_c2 = gas.gamma_1 * (roe_h - 0.5 * (roe_u * roe_u + (roe_v * roe_v + roe_w * roe_w)));
  const double roe_c = std::sqrt(larger(roe_c2, smaller(l_c2, r_c2)));  // round-off may spoil it in cold gas

  const double l_speed = smaller(l.u - std::sqrt(l_c2), roe_u - roe_c);
  const double r_speed = larger(r.u + std::sqrt(r_c2), roe_u + roe_c);
  const double l_mass = l.rho * (l_speed - l.u), r_mass = r.rho * (r_speed - r.u);  // below and above zero
  const double contact = ((r.p - l.p) + (l_mass * l.u - r_mass * r.u)) / (l_mass - r_mass);
  const double middle_p = larger(0.5 * ((l.p + l_mass * (contact - l.u)) + (r.p + r_mass * (contact - r.u))), 0.0);

  const bool from_left = contact > 0.0;
  const double rho = from_left ? l.rho : r.rho, u = from_left ? l.u : r.u, p = from_left ? l.p : r.p;
  const double energy = from_left ? l_energy : r_energy, inverse_rho = from_left ? l_rho_inverse : r_rho_inverse;
  const double mass = from_left ? l_mass : r_mass, speed = from_left ? l_speed : r_speed;
  const bool in_middle = (from_left ? -l_speed : r_speed) > 0.0;
  const double middle_rho = mass / (speed - contact);
  const double middle_energy = middle_rho * (energy * inverse_rho + (contact - u) * (contact + p / mass));

  Face face;
  face.rho = in_middle ? middle_rho : rho;
  face.u = in_middle ? contact : u;
  face.p = in_middle ? middle_p : p;
  face.v = from_left ? l.v : r.v;
  face.w = from_left ? l.w : r.w;
  face.energy = in_middle ? middle_energy : energy;
  face.internal_energy = gas.inverse_gamma_1 * p * inverse_rho;
  return face;
}

}  // namespace sidestream::solvers
