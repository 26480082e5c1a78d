#include "solvers/particles/particle_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sidestream::solvers {

namespace {

// A number for each of the eight cells that a cloud touches: (dz, dy, dx) is lane 4 dz + 2 dy + dx.
using Corners [[gnu::vector_size(8 * sizeof(double))]] = double;
using Quad [[gnu::vector_size(4 * sizeof(double))]] = double;
using Pair [[gnu::vector_size(2 * sizeof(double))]] = double;
using Counts [[gnu::vector_size(8 * sizeof(std::int64_t))]] = std::int64_t;
using CountPair [[gnu::vector_size(2 * sizeof(std::int64_t))]] = std::int64_t;

// To the nearest integer, halves to the even one, below 2^51: where numbers of this size have no digits for more.
template <typename V>
V rounded(V value) {
  constexpr double integers_only = 0x1.8p52;
  return (value + integers_only) - integers_only;
}

// Splits the mass along x, then y, then z; each piece is an integer and no more than what was split, so nothing is lost
// or negative.
Corners split_mass(double mass, double fx, double fy, double fz) {
  const double upper = rounded(mass * fx);
  const Pair x{mass - upper, upper};
  const Pair y1 = rounded(x * fy), y0 = x - y1;
  const Quad y = __builtin_shufflevector(y0, y1, 0, 1, 2, 3);
  const Quad z1 = rounded(y * fz), z0 = y - z1;
  return __builtin_shufflevector(z0, z1, 0, 1, 2, 3, 4, 5, 6, 7);
}

template <typename V>
V load(const double* from) {
  V values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

Corners together(Pair low, Pair low_y, Pair low_z, Pair high) {
  return __builtin_shufflevector(__builtin_shufflevector(low, low_y, 0, 1, 2, 3),
                                 __builtin_shufflevector(low_z, high, 0, 1, 2, 3), 0, 1, 2, 3, 4, 5, 6, 7);
}

// The numbers at `cell`, the one beside it, and those of the rows and planes above.
Corners corners_at(const double* cell, std::ptrdiff_t stride_y, std::ptrdiff_t stride_z) {
  return together(load<Pair>(cell), load<Pair>(cell + stride_y), load<Pair>(cell + stride_z),
                  load<Pair>(cell + stride_z + stride_y));
}

Quad together(Pair low, Pair high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3);
}
Corners together(Quad low, Quad high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

// Along each axis, by how much a potential falls from the cell before each of these eight to the one behind it. Most of
// the numbers are used more than once, so each is loaded once: rows of four through the eight cells, pairs beside them.
std::array<Corners, 3> falls_at(const double* cell, std::ptrdiff_t stride_y, std::ptrdiff_t stride_z) {
  const auto row = [=](int z, int y) { return load<Quad>(cell - 1 + z * stride_z + y * stride_y); };
  const auto pair = [=](int z, int y) { return load<Pair>(cell + z * stride_z + y * stride_y); };
  const Corners low = together(row(0, 0), row(0, 1)), high = together(row(1, 0), row(1, 1));
  const Corners before = __builtin_shufflevector(low, high, 0, 1, 4, 5, 8, 9, 12, 13),
                here = __builtin_shufflevector(low, high, 1, 2, 5, 6, 9, 10, 13, 14),
                behind = __builtin_shufflevector(low, high, 2, 3, 6, 7, 10, 11, 14, 15);
  const Corners before_y = together(together(pair(0, -1), pair(1, -1)), Quad{}),
                behind_y = together(together(pair(0, 2), pair(1, 2)), Quad{}),
                before_z = together(together(pair(-1, 0), pair(-1, 1)), Quad{}),
                behind_z = together(together(pair(2, 0), pair(2, 1)), Quad{});
  return {before - behind,
          __builtin_shufflevector(before_y, here, 0, 1, 8, 9, 2, 3, 12, 13) -
              __builtin_shufflevector(here, behind_y, 2, 3, 8, 9, 6, 7, 10, 11),
          __builtin_shufflevector(before_z, here, 0, 1, 2, 3, 8, 9, 10, 11) -
              __builtin_shufflevector(here, behind_z, 4, 5, 6, 7, 8, 9, 10, 11)};
}

// The sums of the numbers at all eight corners, pair by pair, then row by row, for three sets side by side.
std::array<double, 3> sums_of(const std::array<Corners, 3>& n) {
  const Corners first = __builtin_shufflevector(n[0], n[1], 0, 8, 2, 10, 4, 12, 6, 14) +
                        __builtin_shufflevector(n[0], n[1], 1, 9, 3, 11, 5, 13, 7, 15),
                last = n[2] + __builtin_shufflevector(n[2], n[2], 1, 0, 3, 2, 5, 4, 7, 6);
  const Corners planes = __builtin_shufflevector(first, last, 0, 1, 4, 5, 8, 9, 12, 13) +
                         __builtin_shufflevector(first, last, 2, 3, 6, 7, 10, 11, 14, 15);
  const Quad all =
      __builtin_shufflevector(planes, planes, 0, 1, 4, 5) + __builtin_shufflevector(planes, planes, 2, 3, 6, 7);
  return {all[0], all[1], all[2]};
}

Corners shares_of(const ParticleBatch& batch, std::size_t n, double mass) {
  return split_mass(mass, batch.axes[0].fraction[n], batch.axes[1].fraction[n], batch.axes[2].fraction[n]);
}

// The index of the first of the eight cells in a field's storage.
std::int64_t first_cell(const ParticleBatch& batch, std::size_t n, const ParticlePlacement& at) {
  return at.origin + batch.axes[2].first[n] * at.stride_z + batch.axes[1].first[n] * at.stride_y +
         batch.axes[0].first[n];
}

// `pull(cell, placement)`: the accelerations along each axis of the eight cells from `cell` of the field on.
template <typename Pull>
void pull_by(const ParticleBatch& batch, int count, double unit, const PlacedField& field, Pull pull, PullBatch& sums) {
  for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) {
    const ParticlePlacement& here = field.at[batch.block[n]];
    const Corners shares = shares_of(batch, n, unit);
    std::array<Corners, 3> pulls = pull(field.values + first_cell(batch, n, here), here);
    for (Corners& along : pulls) along *= shares;
    const std::array<double, 3> sum = sums_of(pulls);
    for (std::size_t axis = 0; axis < 3; ++axis) sums[axis][n] = sum[axis];
  }
}

}  // namespace

inline namespace kernels {

bool locate_on_axis(const ParticleAxis& axis, const double* x, int count, AxisBatch& out) {
  int outside = 0;
  const double last = axis.cells - 1;
  for (int n = 0; n < count; ++n) {
    outside |= !(x[n] >= 0.0 && x[n] < axis.length);
    const double scaled = x[n] * axis.cells_per_length, cell = std::min(std::floor(scaled), last);
    const double within = scaled - cell, upper = within >= 0.5 ? 1.0 : 0.0;
    out.owner[static_cast<std::size_t>(n)] = static_cast<std::int32_t>(cell);
    out.first[static_cast<std::size_t>(n)] = static_cast<std::int32_t>(cell - 1.0 + upper);
    out.fraction[static_cast<std::size_t>(n)] = within + 0.5 - upper;
  }
  return outside == 0;
}

void add_shares(const ParticleBatch& batch, int count, const double* masses, const ParticlePlacement* at,
                std::int64_t* mass) {
  for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) {
    const ParticlePlacement& here = at[batch.block[n]];
    std::int64_t* const cell = mass + first_cell(batch, n, here);
    const auto add = [](std::int64_t* row, CountPair counts) {
      CountPair sum;
      std::memcpy(&sum, row, sizeof sum);
      sum += counts;
      std::memcpy(row, &sum, sizeof sum);
    };
    const Counts shares = __builtin_convertvector(shares_of(batch, n, masses[n]), Counts);
    add(cell, __builtin_shufflevector(shares, shares, 0, 1));
    add(cell + here.stride_y, __builtin_shufflevector(shares, shares, 2, 3));
    add(cell + here.stride_z, __builtin_shufflevector(shares, shares, 4, 5));
    add(cell + here.stride_z + here.stride_y, __builtin_shufflevector(shares, shares, 6, 7));
  }
}

void pull_by_acceleration(const ParticleBatch& batch, int count, double unit, const PlacedField& acceleration,
                          PullBatch& sums) {
  const auto pull = [](const double* cell, const ParticlePlacement& here) {
    const auto along = [&](int axis) {
      return corners_at(cell + axis * here.stride_component, here.stride_y, here.stride_z);
    };
    return std::array{along(0), along(1), along(2)};
  };
  pull_by(batch, count, unit, acceleration, pull, sums);
}

void pull_by_potential(const ParticleBatch& batch, int count, double unit, const PlacedField& potential,
                       const std::array<double, 3>& over_two_dx, PullBatch& sums) {
  const auto pull = [over_two_dx](const double* cell, const ParticlePlacement& here) {
    std::array<Corners, 3> falls = falls_at(cell, here.stride_y, here.stride_z);
    for (std::size_t axis = 0; axis < 3; ++axis) falls[axis] *= over_two_dx[axis];
    return falls;
  };
  pull_by(batch, count, unit, potential, pull, sums);
}

void kick_and_drift(int count, double scale, const double* sums, double drift, double* w, double* x,
                    core::LargestMagnitude& largest) {
  for (int n = 0; n < count; ++n) {
    w[n] += scale * sums[n];
    largest.add(w[n]);
  }
  for (int n = 0; n < count && drift != 0.0; ++n) x[n] += drift * w[n];
}

}  // namespace kernels

}  // namespace sidestream::solvers
