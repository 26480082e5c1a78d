#include <algorithm>
#include <cmath>
#include <type_traits>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "solvers/spectral/flow_parts.hpp"

// The part of a stage that lies in the space of waves, row by row, so that a row stays in the cache.

namespace sidestream::solvers {

namespace {

// Rounding of the stages would add up to a divergence of 6e-8 times the root of the steps.
template <typename Real>
constexpr bool has_to_be_projected = std::is_same_v<Real, float>;

double product(Wave<double> a, Wave<double> b) {
  return a.real() * b.real() + a.imag() * b.imag();
}

}  // namespace

template <typename Real>
void IncompressibleFlow<Real>::Parts::finish_stage(std::int64_t step, std::size_t stage, double dt, StageSums& totals) {
  const StageWeights& weights = scheme.stages[stage];
  const bool is_last = weights.kind == StageKind::last;
  if (band) {
    power_of_stage[stage] = band->make_force();
    band->clear();
  }
  if (rows) {
    const std::optional<Displacement> here = phases(step, stage);
    const std::optional<Displacement> back = here ? std::optional(here->reversed()) : std::nullopt;
    const std::optional<Displacement> there = is_last ? std::nullopt : phases(step, stage + 1);
    core::for_each_row(rows->box(), [&](int k, int j) {
      if (back)
        for (int c = 0; c < products.components(); ++c) back->apply(rows->kept(k, j), k, j, row_of(products, c, k, j));
      advance_row(weights, dt, k, j);
      if (band) add_force(weights, dt, k, j);
      if (config.rotation != 0.0) rotate(weights.kind, scheme.decay * dt, k, j);
      if (is_last && has_to_be_projected<Real>) remove_rounding(k, j);
      clear_tail(k, j);
      keep_sources(next, k, j);
      if (band) enter_band(k, j);
      add_to_sums(next, k, j, is_last, stage + 1, totals);
      if (there) displace_next(*there, k, j);
    });
  }
  share_band();
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::advance_row(const StageWeights& weights, double dt, int k, int j) {
  // The transforms' factor of one over the number of cells goes in here.
  const double norm = 1.0 / static_cast<double>(grid.geometry().domain.volume());
  const StageWeights own{weights.kind, dt * weights.next, dt * weights.sum};
  const StageWeights of_products{weights.kind, norm * own.next, norm * own.sum};
  ModeRow row = rows->row(k, j);
  decays[0].apply_to(row, k, j);
  const auto product = [&](int c) { return row_of(products, c, k, j); };
  advance_velocity<Real>(row, of_products, {product(0), product(1), product(2), product(3), product(4)},
                         velocity_of(base, k, j), velocity_of(sum, k, j));
  for (int s = 0; s < scalars(); ++s) {
    const auto index = static_cast<std::size_t>(s);
    decays[1 + index].apply_to(row, k, j);
    const StageWeights of_source{weights.kind, -own.next, -own.sum};
    advance_scalar<Real>(row, of_products, {product(5 + 3 * s), product(6 + 3 * s), product(7 + 3 * s)},
                         config.scalars[index].has_gradient() ? row_of(sources, s, k, j) : nullptr, of_source,
                         row_of(base, 3 + s, k, j), row_of(sum, 3 + s, k, j), product(3 + s));
  }
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::add_force(const StageWeights& weights, double dt, int k, int j) {
  const auto& places = band->local().in_row(k, j);
  if (places.empty()) return;
  ModeRow row = rows->row(k, j);
  decays[0].apply_to(row, k, j);
  const bool decays_now = weights.kind == StageKind::first || weights.kind == StageKind::decaying;
  for (const LocalBand::Place& place : places)
    for (int c = 0; c < 3; ++c) {
      const double factor = dt * (decays_now ? row.decay_x[place.i] * row.decay_yz : 1.0);
      const Wave<double> force = factor * band->force()[place.wave][static_cast<std::size_t>(c)];
      const auto add = [](Wave<Real>& value, Wave<double> change) { value = Wave<Real>(Wave<double>(value) + change); };
      Wave<Real>& next_value = row_of(next, c, k, j)[place.i];
      if (weights.kind == StageKind::last) {
        add(next_value, weights.sum * force);
        row_of(base, c, k, j)[place.i] = next_value;
      } else {
        add(next_value, weights.next * force);
        add(row_of(sum, c, k, j)[place.i], weights.sum * force);
      }
    }
}

// Waves of a rotating frame turn: du/dt = -omega e x u with e = k/|k| and omega = 2 Omega k_z/|k| (Greenspan 1968), so
// u(t) = u cos(omega t) - e x u sin(omega t). A mean flow turns about z; what it has along z stays.
template <typename Real>
void IncompressibleFlow<Real>::Parts::rotate(StageKind kind, double time, int k, int j) {
  if (kind == StageKind::middle || kind == StageKind::last) return;
  const ModeRow row = rows->row(k, j);
  for (int i = 0; i < row.modes; ++i) {
    const double kx = row.kx[i], size = std::sqrt(kx * kx + row.ky * row.ky + row.kz * row.kz);
    const std::array<double, 3> e =
        size > 0.0 ? std::array{kx / size, row.ky / size, row.kz / size} : std::array{0.0, 0.0, 1.0};
    const double angle = 2.0 * config.rotation * e[2] * time, c = core::cos(angle), s = core::sin(angle);
    const auto turn = [&](Spectrum<Real>& field) {
      const auto velocity = velocity_of(field, k, j);
      const Wave<double> u = velocity[0][i], v = velocity[1][i], w = velocity[2][i];
      const Wave<double> x = e[1] * w - e[2] * v, y = e[2] * u - e[0] * w, z = e[0] * v - e[1] * u;
      velocity[0][i] = Wave<Real>(c * u - s * x);
      velocity[1][i] = Wave<Real>(c * v - s * y);
      if (size > 0.0) velocity[2][i] = Wave<Real>(c * w - s * z);
    };
    turn(next);
    turn(sum);
    if (kind == StageKind::first) turn(base);
  }
}

// At the end of a step, when `base` and `next` are the same.
template <typename Real>
void IncompressibleFlow<Real>::Parts::remove_rounding(int k, int j) {
  const ModeRow row = rows->row(k, j);
  remove_divergence<Real>(row, velocity_of(next, k, j));
  for (int c = 0; c < 3; ++c) std::copy_n(row_of(next, c, k, j), row.modes, row_of(base, c, k, j));
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::clear_tail(int k, int j) {
  const int kept = rows->kept(k, j), modes = rows->box().extent().x;
  if (kept == modes) return;
  for (int c = 0; c < fields(); ++c) std::fill_n(row_of(next, c, k, j) + kept, modes - kept, Wave<Real>{});
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::keep_sources(Spectrum<Real>& state, int k, int j) {
  for (int s = 0; s < scalars(); ++s) {
    const PassiveScalar& scalar = config.scalars[static_cast<std::size_t>(s)];
    if (!scalar.has_gradient()) continue;
    const auto [gx, gy, gz] = scalar.gradient;
    const auto [u, v, w] = velocity_of(state, k, j);
    const ComplexRow<Real> source = row_of(sources, s, k, j);
    for (int i = 0; i < rows->kept(k, j); ++i)
      source[i] = Wave<Real>(gx * Wave<double>(u[i]) + gy * Wave<double>(v[i]) + gz * Wave<double>(w[i]));
  }
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::enter_band(int k, int j) {
  if (!band) return;
  for (const LocalBand::Place& place : band->local().in_row(k, j))
    for (int c = 0; c < 3; ++c)
      band->velocity()[place.wave][static_cast<std::size_t>(c)] = row_of(next, c, k, j)[place.i];
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::displace_next(const Displacement& by, int k, int j) {
  for (int c = 0; c < fields(); ++c) by.apply(rows->kept(k, j), k, j, row_of(next, c, k, j));
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::add_to_sums(Spectrum<Real>& state, int k, int j, bool is_end, std::size_t stage,
                                                  StageSums& totals) {
  const ModeRow row = rows->row(k, j);
  squares.resize(static_cast<std::size_t>(row.modes));
  steepness.resize(squares.size());
  const auto [u, v, w] = velocity_of(state, k, j);
  square_modes<Real>(row, {u, v, w}, squares.data(), steepness.data());
  const int lo = rows->box().lo.x;
  core::CompactSum& steep = is_end ? totals.at_end[1] : totals.of_stage[stage];
  for (std::size_t i = 0; i < squares.size(); ++i) steep.add(mode_weight(lo + static_cast<int>(i)) * steepness[i]);
  if (!is_end) return;
  for (std::size_t i = 0; i < squares.size(); ++i)
    totals.at_end[0].add(mode_weight(lo + static_cast<int>(i)) * squares[i]);
  for (int s = 0; s < scalars(); ++s) {
    const ComplexRow<Real> scalar = row_of(state, 3 + s, k, j), source = row_of(sources, s, k, j);
    core::CompactSum* const of_scalar = &totals.at_end[2 + 3 * static_cast<std::size_t>(s)];
    for (int i = 0; i < row.modes; ++i) {
      const double weight = mode_weight(lo + i), square = weight * product(scalar[i], scalar[i]);
      of_scalar[0].add(square);
      of_scalar[1].add(square * (row.kx[i] * row.kx[i] + row.ky * row.ky + row.kz * row.kz));
      of_scalar[2].add(weight * product(scalar[i], source[i]));
    }
  }
}

template struct IncompressibleFlow<float>::Parts;
template struct IncompressibleFlow<double>::Parts;

}  // namespace sidestream::solvers
