#include <algorithm>
#include <cmath>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "solvers/spectral/flow_parts.hpp"

// The part of a stage that lies in the space of waves, row by row, so that a row stays in the cache.

namespace sidestream::solvers {

namespace {

double product(std::complex<double> a, std::complex<double> b) {
  return a.real() * b.real() + a.imag() * b.imag();
}

}  // namespace

void IncompressibleFlow::Parts::finish_stage(std::int64_t step, std::size_t stage, double dt, StageSums& totals) {
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
      clear_tail(k, j);
      keep_sources(k, j);
      if (band) enter_band(k, j);
      add_to_sums(k, j, is_last, stage + 1, totals);
      if (there) displace_next(*there, k, j);
    });
  }
  share_band();
}

void IncompressibleFlow::Parts::advance_row(const StageWeights& weights, double dt, int k, int j) {
  // The transforms' factor of one over the number of cells goes in here.
  const double norm = 1.0 / static_cast<double>(grid.geometry().domain.volume());
  const StageWeights own{weights.kind, dt * weights.next, dt * weights.sum};
  const StageWeights of_products{weights.kind, norm * own.next, norm * own.sum};
  ModeRow row = rows->row(k, j);
  decays[0].apply_to(row, k, j);
  const auto product = [&](int c) { return row_of(products, c, k, j); };
  const auto three = [&](Spectrum& field) {
    return std::array{row_of(field, 0, k, j), row_of(field, 1, k, j), row_of(field, 2, k, j)};
  };
  advance_velocity(row, of_products, {product(0), product(1), product(2), product(3), product(4)}, three(base),
                   three(sum));
  for (int s = 0; s < scalars(); ++s) {
    const auto index = static_cast<std::size_t>(s);
    decays[1 + index].apply_to(row, k, j);
    const StageWeights of_source{weights.kind, -own.next, -own.sum};
    advance_scalar(row, of_products, {product(5 + 3 * s), product(6 + 3 * s), product(7 + 3 * s)},
                   config.scalars[index].has_gradient() ? row_of(sources, s, k, j) : nullptr, of_source,
                   row_of(base, 3 + s, k, j), row_of(sum, 3 + s, k, j), product(3 + s));
  }
}

void IncompressibleFlow::Parts::add_force(const StageWeights& weights, double dt, int k, int j) {
  const auto& places = band->local().in_row(k, j);
  if (places.empty()) return;
  ModeRow row = rows->row(k, j);
  decays[0].apply_to(row, k, j);
  const bool decays_now = weights.kind == StageKind::first || weights.kind == StageKind::decaying;
  for (const LocalBand::Place& place : places)
    for (int c = 0; c < 3; ++c) {
      const double factor = dt * (decays_now ? row.decay_x[place.i] * row.decay_yz : 1.0);
      const std::complex<double> force = factor * band->force()[place.wave][static_cast<std::size_t>(c)];
      std::complex<double>& next_value = row_of(next, c, k, j)[place.i];
      if (weights.kind == StageKind::last) {
        next_value += weights.sum * force;
        row_of(base, c, k, j)[place.i] = next_value;
      } else {
        next_value += weights.next * force;
        row_of(sum, c, k, j)[place.i] += weights.sum * force;
      }
    }
}

// Waves of a rotating frame turn: du/dt = -omega e x u with e = k/|k| and omega = 2 Omega k_z/|k| (Greenspan 1968), so
// u(t) = u cos(omega t) - e x u sin(omega t). A mean flow turns about z; what it has along z stays.
void IncompressibleFlow::Parts::rotate(StageKind kind, double time, int k, int j) {
  if (kind == StageKind::middle || kind == StageKind::last) return;
  const ModeRow row = rows->row(k, j);
  for (int i = 0; i < row.modes; ++i) {
    const double kx = row.kx[i], size = std::sqrt(kx * kx + row.ky * row.ky + row.kz * row.kz);
    const std::array<double, 3> e =
        size > 0.0 ? std::array{kx / size, row.ky / size, row.kz / size} : std::array{0.0, 0.0, 1.0};
    const double angle = 2.0 * config.rotation * e[2] * time, c = core::cos(angle), s = core::sin(angle);
    const auto turn = [&](Spectrum& field) {
      std::complex<double>&u = row_of(field, 0, k, j)[i], &v = row_of(field, 1, k, j)[i],
      &w = row_of(field, 2, k, j)[i];
      const std::complex<double> x = e[1] * w - e[2] * v, y = e[2] * u - e[0] * w, z = e[0] * v - e[1] * u;
      u = c * u - s * x;
      v = c * v - s * y;
      if (size > 0.0) w = c * w - s * z;
    };
    turn(next);
    turn(sum);
    if (kind == StageKind::first) turn(base);
  }
}

void IncompressibleFlow::Parts::clear_tail(int k, int j) {
  const int kept = rows->kept(k, j), modes = rows->box().extent().x;
  if (kept == modes) return;
  for (int c = 0; c < fields(); ++c) std::fill_n(row_of(next, c, k, j) + kept, modes - kept, 0.0);
}

void IncompressibleFlow::Parts::keep_sources(int k, int j) {
  for (int s = 0; s < scalars(); ++s) {
    const PassiveScalar& scalar = config.scalars[static_cast<std::size_t>(s)];
    if (!scalar.has_gradient()) continue;
    const auto [gx, gy, gz] = scalar.gradient;
    const ComplexRow u = row_of(next, 0, k, j), v = row_of(next, 1, k, j), w = row_of(next, 2, k, j);
    const ComplexRow source = row_of(sources, s, k, j);
    for (int i = 0; i < rows->kept(k, j); ++i) source[i] = gx * u[i] + gy * v[i] + gz * w[i];
  }
}

void IncompressibleFlow::Parts::enter_band(int k, int j) {
  if (!band) return;
  for (const LocalBand::Place& place : band->local().in_row(k, j))
    for (int c = 0; c < 3; ++c)
      band->velocity()[place.wave][static_cast<std::size_t>(c)] = row_of(next, c, k, j)[place.i];
}

void IncompressibleFlow::Parts::displace_next(const Displacement& by, int k, int j) {
  for (int c = 0; c < fields(); ++c) by.apply(rows->kept(k, j), k, j, row_of(next, c, k, j));
}

void IncompressibleFlow::Parts::add_to_sums(int k, int j, bool is_end, std::size_t stage, StageSums& totals) {
  const ModeRow row = rows->row(k, j);
  squares.resize(static_cast<std::size_t>(row.modes));
  steepness.resize(squares.size());
  square_modes(row, {row_of(next, 0, k, j), row_of(next, 1, k, j), row_of(next, 2, k, j)}, squares.data(),
               steepness.data());
  const int lo = rows->box().lo.x;
  core::CompactSum& steep = is_end ? totals.at_end[1] : totals.of_stage[stage];
  for (std::size_t i = 0; i < squares.size(); ++i) steep.add(mode_weight(lo + static_cast<int>(i)) * steepness[i]);
  if (!is_end) return;
  for (std::size_t i = 0; i < squares.size(); ++i)
    totals.at_end[0].add(mode_weight(lo + static_cast<int>(i)) * squares[i]);
  for (int s = 0; s < scalars(); ++s) {
    const ComplexRow scalar = row_of(next, 3 + s, k, j), source = row_of(sources, s, k, j);
    core::CompactSum* const of_scalar = &totals.at_end[2 + 3 * static_cast<std::size_t>(s)];
    for (int i = 0; i < row.modes; ++i) {
      const double weight = mode_weight(lo + i), square = weight * product(scalar[i], scalar[i]);
      of_scalar[0].add(square);
      of_scalar[1].add(square * (row.kx[i] * row.kx[i] + row.ky * row.ky + row.kz * row.kz));
      of_scalar[2].add(weight * product(scalar[i], source[i]));
    }
  }
}

}  // namespace sidestream::solvers
