#include "solvers/hydro/hydro_rows.hpp"

#include <limits>

#include "sidestream/solvers/gas_components.hpp"
#include "solvers/hydro/hydro_reconstruction.hpp"
#include "solvers/hydro/hydro_riemann.hpp"
#include "solvers/hydro/hydro_tracing.hpp"

// Every loop here runs over a row of cells with unit stride and without a branch; the rows that go in and those that
// come out never overlap, which `ivdep` tells the compiler.

namespace sidestream::solvers {

namespace {

/// Heat that a shock within four cells has brought is at least this share of the kinetic energy of the motion inside
/// the cell. Less than all: what gravity does to that motion is not in the total energy.
constexpr double share_of_narrow_shock = 0.75;

/// Heat that a shock within eight cells has brought is at least this share of the squared fall of the velocity over the
/// middle four: half of what two equal streams of that difference have to lose.
constexpr double share_of_wide_shock = 1.0 / 16.0;

/// Gas is at least this share as warm after a step as the coldest that was in the cell or came in: where the profile of
/// the temperature has its minimum, what remains is colder than the mean.
constexpr double share_of_coldest = 0.9;

/// Cells of the vectors that hold `cells` cells: loops over so many leave no rest to be done one by one.
constexpr int whole_vectors(int cells) {
  return (cells + row_padding) & ~row_padding;
}

template <bool dual>
void compute_primitives_of(const RowContext context, int cells, ConstRows state, Rows primitive) {
  const double *rho_in = state[density], *mx = state[momentum_x], *my = state[momentum_y], *mz = state[momentum_z],
               *total = state[total_energy], *internal = state[internal_energy];
  double *rho = primitive[primitive_rho], *u = primitive[primitive_u], *v = primitive[primitive_v],
         *w = primitive[primitive_w], *p = primitive[primitive_p];
#pragma GCC ivdep
  for (int i = 0; i < cells; ++i) {
    const double inverse = 1.0 / rho_in[i];
    const double e = dual ? internal[i] : total[i] - kinetic(inverse, mx[i], my[i], mz[i]);
    rho[i] = rho_in[i];
    u[i] = mx[i] * inverse;
    v[i] = my[i] * inverse;
    w[i] = mz[i] * inverse;
    p[i] = context.gas.gamma_1 * larger(e, rho_in[i] * context.energy_floor);
  }
}

/// Rows of one side of the faces, by what they mean to the faces.
template <typename T>
struct SideRowsOf {
  SideRowsOf(RowsOf<T> rows, int axis)
      : rho(rows[primitive_rho]),
        u(rows[primitive_u + axis]),
        v(rows[primitive_u + (axis + 1) % 3]),
        w(rows[primitive_u + (axis + 2) % 3]),
        p(rows[primitive_p]) {}
  [[gnu::always_inline]] Side at(int i) const { return {rho[i], u[i], v[i], w[i], p[i]}; }
  [[gnu::always_inline]] void set(int i, const Side& side) const {
    rho[i] = side.rho;
    u[i] = side.u;
    v[i] = side.v;
    w[i] = side.w;
    p[i] = side.p;
  }

  T *rho, *u, *v, *w, *p;
};
using SideRows = SideRowsOf<const double>;

template <bool flatten>
void trace_of(int cells, int axis, double dt_over_dx, const Neighbors& primitive, const Neighbors& slope,
              ConstRows sound, const std::array<const double*, 3>& strength, Rows lower_face, Rows upper_face) {
  const int normal = primitive_u + axis, first = primitive_u + (axis + 1) % 3, second = primitive_u + (axis + 2) % 3;
  using ThreeRows = std::array<const double*, 3>;
  const auto rows_of = [](const Neighbors& rows, int component) {
    return ThreeRows{rows[0][component], rows[1][component], rows[2][component]};
  };
  const auto p_rows = rows_of(primitive, primitive_p);
  const std::array<int, primitives> order{primitive_rho, normal, first, second, primitive_p};
  std::array<ThreeRows, primitives> averages, slopes;
  for (std::size_t n = 0; n < order.size(); ++n) {
    averages[n] = rows_of(primitive, order[n]);
    slopes[n] = rows_of(slope, order[n]);
  }
  const double *c_row = sound[sound_speed_c], *impedance = sound[sound_impedance],
               *inverse_impedance = sound[sound_inverse_impedance], *inverse_square = sound[sound_inverse_square];
  const double *strength_below = strength[0], *strength_here = strength[1], *strength_above = strength[2];
  const SideRowsOf<double> lower(lower_face, axis), upper(upper_face, axis);
  const int whole = whole_vectors(cells);
#pragma GCC ivdep
  for (int i = 0; i < whole; ++i) {
    // The shock here or in the next cell towards lower pressure.
    const double p_below = p_rows[0][i], p_above = p_rows[2][i];
    const double ahead =
        flatten ? (p_above < p_below ? strength_above[i] : (p_below < p_above ? strength_below[i] : 0.0)) : 0.0;
    const double steepness = flatten ? 1.0 - larger(ahead, strength_here[i]) : 1.0;
    const auto parabola_of = [&](std::size_t n) __attribute__((always_inline)) {
      const auto at = [i](const ThreeRows& rows) __attribute__((always_inline)) {
        return Three{rows[0][i], rows[1][i], rows[2][i]};
      };
      return parabola(at(averages[n]), at(slopes[n]), steepness);
    };
    const CellProfile gas{parabola_of(0), parabola_of(1), parabola_of(2), parabola_of(3), parabola_of(4)};
    const SoundWaves waves{c_row[i], impedance[i], inverse_impedance[i], inverse_square[i]};
    upper.set(i, upper_side(gas, waves, dt_over_dx));
    lower.set(i, lower_side(gas, waves, dt_over_dx));
  }
}

/// A state of one side of a cell without what left the cell.
[[gnu::always_inline]] inline void correct_side(ConstRows state, int i, const std::array<double, loss_components>& loss,
                                                Rows corrected) {
  const double rho = state[primitive_rho][i], u = state[primitive_u][i], v = state[primitive_v][i],
               w = state[primitive_w][i], p = state[primitive_p][i];
  const double new_rho = rho - loss[loss_mass], new_p = p - loss[loss_pressure];
  const bool good = is_healthy(new_rho, rho) & is_healthy(new_p, p);
  const double inverse = 1.0 / (good ? new_rho : rho);
  corrected[primitive_rho][i] = good ? new_rho : rho;
  corrected[primitive_u][i] = good ? (rho * u - loss[loss_x]) * inverse : u;
  corrected[primitive_v][i] = good ? (rho * v - loss[loss_y]) * inverse : v;
  corrected[primitive_w][i] = good ? (rho * w - loss[loss_z]) * inverse : w;
  corrected[primitive_p][i] = good ? new_p : p;
}

template <std::size_t count>
void correct_by(int cells, const std::array<ConstRows, 2> states, const std::array<ConstRows, count> losses,
                const std::array<Rows, 2> corrected) {
  const int whole = whole_vectors(cells);
#pragma GCC ivdep
  for (int i = 0; i < whole; ++i) {
    std::array<double, loss_components> loss;
    for (int c = 0; c < loss_components; ++c) {
      const auto n = static_cast<std::size_t>(c);
      loss[n] = losses[0][c][i];
      if constexpr (count == 2) loss[n] += losses[1][c][i];
    }
    correct_side(states[0], i, loss, corrected[0]);
    correct_side(states[1], i, loss, corrected[1]);
  }
}

/// Where the fluxes go.
struct FluxRows {
  FluxRows(Rows rows, int axis)
      : mass(rows[flux_mass]),
        u(rows[flux_x + axis]),
        v(rows[flux_x + (axis + 1) % 3]),
        w(rows[flux_x + (axis + 2) % 3]),
        velocity(rows[flux_velocity]),
        pressure(rows[flux_pressure]),
        energy(rows[flux_energy]),
        internal(rows[flux_internal]) {}
  template <bool is_final>
  [[gnu::always_inline]] void set(int i, const Face& face) const {
    const double mass_flux = face.rho * face.u;
    mass[i] = mass_flux;
    u[i] = mass_flux * face.u + face.p;
    v[i] = mass_flux * face.v;
    w[i] = mass_flux * face.w;
    velocity[i] = face.u;
    pressure[i] = face.p;
    if constexpr (is_final) {
      energy[i] = face.u * (face.energy + face.p);
      internal[i] = face.internal_energy;
    }
  }

  double *mass, *u, *v, *w, *velocity, *pressure, *energy, *internal;
};

template <bool is_final>
void solve_hllc(const RowContext context, int faces, int axis, ConstRows left, ConstRows right, Rows flux) {
  const SideRows l(left, axis), r(right, axis);
  const FluxRows out(flux, axis);
  const int whole = whole_vectors(faces);
#pragma GCC ivdep
  for (int i = 0; i < whole; ++i) out.set<is_final>(i, hllc(context.gas, l.at(i), r.at(i)));
}

// The parts are done one after another for a batch of faces, not for each face: the operations of one face wait for
// each other, those of different faces do not.
template <bool is_final>
void solve_two_shock(const RowContext context, int faces, int axis, ConstRows left, ConstRows right, Rows flux) {
  constexpr int batch = 64, iterations = is_final ? final_iterations : predictor_iterations;
  alignas(64) double p[batch], u[batch], share[batch], inverse_thinning[batch];
  const Gas gas = context.gas;
  for (int first = 0; first < faces; first += batch) {
    const int count = whole_vectors(faces - first < batch ? faces - first : batch);
    const SideRows l(left.shifted(first), axis), r(right.shifted(first), axis);
    const FluxRows out(flux.shifted(first), axis);
#pragma GCC ivdep
    for (int i = 0; i < count; ++i) p[i] = acoustic_pressure(gas, l.at(i), r.at(i));
    for (int iteration = 1; iteration < iterations; ++iteration)
#pragma GCC ivdep
      for (int i = 0; i < count; ++i) p[i] = two_shock_step(gas, l.at(i), r.at(i), p[i]).p;
#pragma GCC ivdep
    for (int i = 0; i < count; ++i) {
      const Middle middle = two_shock_step(gas, l.at(i), r.at(i), p[i]);
      p[i] = middle.p;
      u[i] = middle.u;
    }
#pragma GCC ivdep
    for (int i = 0; i < count; ++i) {
      const Fan fan = two_shock_fan(gas, l.at(i), r.at(i), {p[i], u[i]});
      share[i] = fan.share;
      inverse_thinning[i] = fan.inverse_thinning;
    }
#pragma GCC ivdep
    for (int i = 0; i < count; ++i)
      out.set<is_final>(i, two_shock_face(gas, l.at(i), r.at(i), {p[i], u[i]}, {share[i], inverse_thinning[i]}));
  }
}

/// The sum over axes of the differences of a flux between upper and lower faces.
[[gnu::always_inline]] inline double divergence(const Divergence& f, int component, std::ptrdiff_t i) {
  const auto along = [&](std::size_t axis) __attribute__((always_inline)) {
    return f.dt_over_dx[axis] * (f.upper[axis][component][i] - f.lower[axis][component][i]);
  };
  return symmetric_sum(along(0), along(1), along(2));
}

/// What leaves of internal energy along `axis`, times dt / dx.
[[gnu::always_inline]] inline double internal_loss(const Divergence& f, std::size_t axis, std::ptrdiff_t i) {
  const ConstRows lower = f.lower[axis], upper = f.upper[axis];
  return f.dt_over_dx[axis] *
         (upper[flux_mass][i] * upper[flux_internal][i] - lower[flux_mass][i] * lower[flux_internal][i]);
}

/// The least internal energy per mass of what is in a cell, `inside`, and of what flows in along an axis.
[[gnu::always_inline]] inline double least_of_inflow(double inside, const Divergence& f, std::size_t axis,
                                                     std::ptrdiff_t i) {
  const ConstRows lower = f.lower[axis], upper = f.upper[axis];
  const double from_below = lower[flux_mass][i] > 0.0 ? lower[flux_internal][i] : inside,
               from_above = upper[flux_mass][i] < 0.0 ? upper[flux_internal][i] : inside;
  return smaller(inside, smaller(from_below, from_above));
}

/// Internal energy after the step without the heat of shocks: d(rho e)/dt = -div(rho e u) - p div u, with p at the
/// middle of the step as the mean of old and new; not much less than the coldest gas has, but for the expansion.
[[gnu::always_inline]] inline double adiabatic_energy(const RowContext& context, const Divergence& f, double rho_old,
                                                      double old, double rho, std::ptrdiff_t i) {
  const double expansion = clamped(0.5 * context.gas.gamma_1 * divergence(f, flux_velocity, i), -0.5, 0.5);
  const double carried = old - symmetric_sum(internal_loss(f, 0, i), internal_loss(f, 1, i), internal_loss(f, 2, i));
  const double inside = old / rho_old;
  const double coldest = smaller(smaller(least_of_inflow(inside, f, 0, i), least_of_inflow(inside, f, 1, i)),
                                 least_of_inflow(inside, f, 2, i));
  return larger(carried - expansion * old, (1.0 - expansion) * (share_of_coldest * rho * coldest)) / (1.0 + expansion);
}

/// The kinetic energy per mass of the motion inside a cell, relative to its mean, if the velocity is linear there: a
/// 24th of the squared difference of each component across the cell along each axis.
[[gnu::always_inline]] inline double inner_motion(const Surroundings& around, std::ptrdiff_t i) {
  const auto along = [&](std::size_t axis) __attribute__((always_inline)) {
    const auto square = [&](int component) __attribute__((always_inline)) {
      const double rise = around.above[axis][component][i] - around.below[axis][component][i];
      return rise * rise;
    };
    return symmetric_sum(square(primitive_u), square(primitive_v), square(primitive_w));
  };
  return (1.0 / 96.0) * symmetric_sum(along(0), along(1), along(2));
}

/// The least heat per mass of a shock along some axis; infinity where there is none. `inner`: see `inner_motion`.
[[gnu::always_inline]] inline double least_of_shock(const Surroundings& around, double inner, std::ptrdiff_t i) {
  constexpr double none = std::numeric_limits<double>::infinity();
  const double narrow = share_of_narrow_shock * inner;
  const auto along = [&](std::size_t a) __attribute__((always_inline)) {
    const int u = primitive_u + static_cast<int>(a);
    const Fall two{around.below[a][u][i], around.above[a][u][i]}, four{around.far_below[a][i], around.far_above[a][i]},
        eight{around.farthest_below[a][i], around.farthest_above[a][i]};
    const double wide = larger(narrow, share_of_wide_shock * (four.height() * four.height()));
    return falls_steeply(four, two) ? narrow : falls_steeply(eight, four) ? wide : none;
  };
  return smaller(smaller(along(0), along(1)), along(2));
}

template <bool dual>
UpdateCounts update_of(const RowContext context, int cells, ConstRows state, const Divergence f,
                       const Surroundings around, double density_floor, Rows out, double* given) {
  int unphysical = 0, floored = 0;
#pragma GCC ivdep
  for (int i = 0; i < cells; ++i) {
    const double rho_old = state[density][i], old = state[internal_energy][i];
    const double rho = rho_old - divergence(f, flux_mass, i);
    const double mx = state[momentum_x][i] - divergence(f, flux_x, i);
    const double my = state[momentum_y][i] - divergence(f, flux_y, i);
    const double mz = state[momentum_z][i] - divergence(f, flux_z, i);
    const double total = state[total_energy][i] - divergence(f, flux_energy, i);
    const double heat = total - kinetic(1.0 / rho, mx, my, mz);
    bool good = is_healthy(rho, rho_old) & (rho >= density_floor);
    double believed = heat;
    if constexpr (dual) {
      const double adiabatic = adiabatic_energy(context, f, rho_old, old, rho, i), motion = inner_motion(around, i),
                   inner = rho * motion;
      const bool is_shocked =
          (divergence(f, flux_velocity, i) < 0.0) & (heat > larger(adiabatic, rho * least_of_shock(around, motion, i)));
      const bool is_precise =
          (heat > larger(context.eta * total, inner)) & (heat > 0.5 * adiabatic) & (heat < 2.0 * adiabatic);
      believed = is_shocked | is_precise ? heat : adiabatic;
    } else {
      good = good & is_healthy(heat, old);
    }
    // What is repaired later keeps its energy until then.
    const double least = rho * context.energy_floor;
    const bool is_low = good & (believed < least);
    unphysical += good ? 0 : 1;
    floored += is_low ? 1 : 0;
    given[i] = is_low ? least - believed : 0.0;
    out[density][i] = rho;
    out[momentum_x][i] = mx;
    out[momentum_y][i] = my;
    out[momentum_z][i] = mz;
    out[total_energy][i] = total + given[i];
    out[internal_energy][i] = larger(believed, least);
  }
  return {unphysical, floored};
}

}  // namespace

inline namespace kernels {

void compute_primitives(const RowContext& context, int cells, ConstRows state, Rows primitive) {
  (context.eta > 0.0 ? compute_primitives_of<true> : compute_primitives_of<false>)(context, cells, state, primitive);
}

void compute_unresolved(int cells, ConstRows state, double* unresolved) {
  const double *rho = state[density], *mx = state[momentum_x], *my = state[momentum_y], *mz = state[momentum_z],
               *total = state[total_energy], *internal = state[internal_energy];
#pragma GCC ivdep
  for (int i = 0; i < cells; ++i) {
    const double inverse = 1.0 / rho[i];
    unresolved[i] = inverse * ((total[i] - kinetic(inverse, mx[i], my[i], mz[i])) - internal[i]);
  }
}

void carry_unresolved(int faces, const double* below, const double* above, Rows flux) {
  const double* mass = flux[flux_mass];
  double* energy = flux[flux_energy];
  const int whole = whole_vectors(faces);
#pragma GCC ivdep
  for (int i = 0; i < whole; ++i) energy[i] += mass[i] * (mass[i] > 0.0 ? below[i] : above[i]);
}

void compute_sound(const RowContext& context, int cells, ConstRows primitive, Rows sound) {
  const double *rho = primitive[primitive_rho], *p = primitive[primitive_p], gamma = context.gas.gamma,
               inverse_gamma = 1.0 / gamma;
  double *c = sound[sound_speed_c], *impedance = sound[sound_impedance],
         *inverse_impedance = sound[sound_inverse_impedance], *inverse_square = sound[sound_inverse_square];
  const int whole = whole_vectors(cells);
#pragma GCC ivdep
  for (int i = 0; i < whole; ++i) {
    const double inverse = 1.0 / (rho[i] * p[i]), inverse_rho = p[i] * inverse;
    const double square = gamma * p[i] * inverse_rho;
    const double speed = std::sqrt(square);
    const double inverse_of_square = inverse_gamma * (rho[i] * (rho[i] * inverse));
    c[i] = speed;
    impedance[i] = rho[i] * speed;
    inverse_impedance[i] = speed * inverse_of_square * inverse_rho;
    inverse_square[i] = inverse_of_square;
  }
}

void compute_shock_strength(const RowContext& context, int cells, int axis, const std::array<ConstRows, 5>& stencil,
                            double* strength) {
  const int u = primitive_u + axis;
  const double *p_a = stencil[0][primitive_p], *p_b = stencil[1][primitive_p], *p_d = stencil[3][primitive_p],
               *p_e = stencil[4][primitive_p], *u_b = stencil[1][u], *u_d = stencil[3][u],
               *rho_b = stencil[1][primitive_rho], *rho_d = stencil[3][primitive_rho];
  const Gas gas = context.gas;
  const int whole = whole_vectors(cells);
  if (context.flattening == Flattening::compressions) {
#pragma GCC ivdep
    for (int i = 0; i < whole; ++i)
      strength[i] = compression_strength(p_a[i], {rho_b[i], u_b[i], p_b[i]}, {rho_d[i], u_d[i], p_d[i]}, p_e[i]);
    return;
  }
#pragma GCC ivdep
  for (int i = 0; i < whole; ++i)
    strength[i] = shock_strength(gas, p_a[i], {rho_b[i], u_b[i], p_b[i]}, {rho_d[i], u_d[i], p_d[i]}, p_e[i]);
}

void raise_strength(int cells, const double* pressure_below, const double* pressure_above,
                    const std::array<const double*, 3>& along, double* strength) {
  const double *below = along[0], *here = along[1], *above = along[2];
#pragma GCC ivdep
  for (int i = 0; i < cells; ++i) {
    const double ahead = pressure_above[i] < pressure_below[i]   ? above[i]
                         : pressure_below[i] < pressure_above[i] ? below[i]
                                                                 : 0.0;
    strength[i] = larger(strength[i], larger(ahead, here[i]));
  }
}

void compute_slopes(int cells, const Neighbors& primitive, Rows slope) {
  const int whole = whole_vectors(cells);
  for (int c = 0; c < primitives; ++c) {
    const double *below = primitive[0][c], *here = primitive[1][c], *above = primitive[2][c];
    double* out = slope[c];
#pragma GCC ivdep
    for (int i = 0; i < whole; ++i) out[i] = limited_slope(below[i], here[i], above[i]);
  }
}

void trace(int cells, int axis, double dt_over_dx, const Neighbors& primitive, const Neighbors& slope, ConstRows sound,
           const std::array<const double*, 3>& strength, Rows lower_face, Rows upper_face) {
  (strength[1] != nullptr ? trace_of<true> : trace_of<false>)(cells, axis, dt_over_dx, primitive, slope, sound,
                                                              strength, lower_face, upper_face);
}

void take_loss(const RowContext& context, int cells, ConstRows lower_flux, ConstRows upper_flux, double factor,
               Rows loss) {
  const int whole = whole_vectors(cells);
  const double half_gamma_1 = 0.5 * context.gas.gamma_1;
#pragma GCC ivdep
  for (int i = 0; i < whole; ++i) {
    for (const int c : {loss_mass, loss_x, loss_y, loss_z}) loss[c][i] = factor * (upper_flux[c][i] - lower_flux[c][i]);
    // Of internal energy, with the work that the gas does; in units of pressure.
    const double u_lower = lower_flux[flux_velocity][i], u_upper = upper_flux[flux_velocity][i];
    const double p_lower = lower_flux[flux_pressure][i], p_upper = upper_flux[flux_pressure][i];
    loss[loss_pressure][i] =
        factor * ((p_upper * u_upper - p_lower * u_lower) + half_gamma_1 * (p_upper + p_lower) * (u_upper - u_lower));
  }
}

void correct(int cells, const std::array<ConstRows, 2>& states, std::span<const ConstRows> losses,
             const std::array<Rows, 2>& corrected) {
  if (losses.size() == 1)
    correct_by<1>(cells, states, {losses[0]}, corrected);
  else
    correct_by<2>(cells, states, {losses[0], losses[1]}, corrected);
}

void solve_riemann(const RowContext& context, int faces, int axis, ConstRows left, ConstRows right, bool is_final,
                   Rows flux) {
  const auto solve = context.solver == RiemannSolver::hllc
                         ? (is_final ? solve_hllc<true> : solve_hllc<false>)
                         : (is_final ? solve_two_shock<true> : solve_two_shock<false>);
  solve(context, faces, axis, left, right, flux);
}

bool is_physical(const RowContext& context, ConstRows before, ConstRows after, int i, double density_floor) {
  return is_healthy(after[density][i], before[density][i]) && after[density][i] >= density_floor &&
         (context.eta > 0.0 || is_healthy(after[internal_energy][i], before[internal_energy][i]));
}

UpdateCounts update(const RowContext& context, int cells, ConstRows state, const Divergence& fluxes,
                    const Surroundings& around, double density_floor, Rows out, double* given) {
  return (context.eta > 0.0 ? update_of<true> : update_of<false>)(context, cells, state, fluxes, around, density_floor,
                                                                  out, given);
}

}  // namespace kernels

}  // namespace sidestream::solvers
