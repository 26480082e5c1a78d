#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sidestream/core/largest_magnitude.hpp"

namespace sidestream::solvers {

/// Particles that kernels take at a time.
constexpr int batch_size = 64;

/// Where coordinates lie between the centres of two neighbouring cells.
struct AxisBatch {
  std::array<std::int32_t, batch_size> owner;  ///< the cell that holds it
  std::array<std::int32_t, batch_size> first;  ///< the lower of the two cells; `owner` or one below
  std::array<double, batch_size> fraction;     ///< of the way to the upper one
};

/// Some particles: for each, its block, the first of the eight cells around it and where it is between them.
struct ParticleBatch {
  std::array<AxisBatch, 3> axes;
  std::array<std::int32_t, batch_size> block;
};

/// Where a block's cells lie in a field's storage: the cell (k, j, i) of component 0 is at origin + k * stride_z + j *
/// stride_y + i.
struct ParticlePlacement {
  std::int64_t origin, stride_y, stride_z, stride_component;
};

/// A direction of a periodic mesh.
struct ParticleAxis {
  double cells_per_length, length;
  std::int32_t cells;
};

/// A field, and where each block has its cells in it.
struct PlacedField {
  const double* values;
  const ParticlePlacement* at;
};

/// What pulls the particles of a batch, by axis.
using PullBatch = std::array<std::array<double, batch_size>, 3>;

// Loops over the particles of a batch, for every instruction set.
#pragma GCC visibility push(default)
inline namespace kernels {

/// The owner agrees with mesh::cell_of. Returns whether all coordinates are inside [0, length).
bool locate_on_axis(const ParticleAxis& axis, const double* x, int count, AxisBatch& out);

/// Splits the mass of each particle to its eight cells and adds it there: integers, nothing lost.
void add_shares(const ParticleBatch& batch, int count, const double* masses, const ParticlePlacement* at,
                std::int64_t* mass);

/// The sums of an acceleration over the eight cells of each particle, times its shares of the mass `unit`.
void pull_by_acceleration(const ParticleBatch& batch, int count, double unit, const PlacedField& acceleration,
                          PullBatch& sums);
/// The same where the acceleration is the difference of a potential between neighbours times `over_two_dx`.
void pull_by_potential(const ParticleBatch& batch, int count, double unit, const PlacedField& potential,
                       const std::array<double, 3>& over_two_dx, PullBatch& sums);

/// w += scale * sums; x += drift * w.
void kick_and_drift(int count, double scale, const double* sums, double drift, double* w, double* x,
                    core::LargestMagnitude& largest);

}  // namespace kernels
#pragma GCC visibility pop

}  // namespace sidestream::solvers
