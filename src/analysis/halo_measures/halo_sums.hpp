#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "sidestream/core/compact_sum.hpp"

namespace sidestream::analysis {

/// A bit of matter in a halo or group: a particle, or a cell. Its sums below do not depend on the order in which matter
/// is added, nor on how it is dealt to ranks: each rank adds up what it has of a halo, the sums of the ranks are added,
/// and the results are taken from the total.
///
///     sums[halo].add(matter);               // 1. on each rank
///     // 2. their portions go to the rank that owns the halo, which adds them up
///     const Body body = body_of(total);     // 3. mass, centre, shape
///
/// Every sum is exact, so that a halo does not know what other halos hold. A product of mass, offsets and velocities
/// beyond the largest double makes the sums that it enters, and no other, a NaN.
///
/// Offsets are taken from one reference point of the halo, which all ranks know exactly (a cell, a particle), each as
/// the periodic image that belongs to the halo. Each must be computed from the point and the reference alone.
struct Matter {
  double mass = 0.0;
  std::array<double, 3> offset{};    ///< from the reference point, along x, y, z
  std::array<double, 3> velocity{};  ///< zero where it is not known
  std::array<double, 3> size{};      ///< sides of the cell that it fills evenly; zero for a particle
};

/// The pairs of axes of the six components of a symmetric tensor.
constexpr std::array<std::array<std::size_t, 2>, 6> tensor_axes{{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}};
using Tensor = std::array<double, 6>;

/// Sums of mass, mass times offset, and mass times the product of two offsets.
struct MassSums {
  core::CompactSum mass;
  std::array<core::CompactSum, 3> moment;
  std::array<core::CompactSum, 6> second;  ///< in the order of `tensor_axes`

  void add(const Matter& matter) {
    mass.add(matter.mass);
    std::array<double, 3> weighted{};
    for (std::size_t a = 0; a < 3; ++a) {
      weighted[a] = matter.mass * matter.offset[a];
      moment[a].add(weighted[a]);
    }
    for (std::size_t t = 0; t < 6; ++t) {
      const auto [a, b] = tensor_axes[t];
      const double within = a == b ? matter.mass * (matter.size[a] * matter.size[a] / 12.0) : 0.0;
      second[t].add(weighted[a] * matter.offset[b] + within);
    }
  }
};

/// Sums over matter with velocities: of mass, momentum and angular momentum, and of mass times velocity squared.
struct MotionSums {
  core::CompactSum mass, square;
  std::array<core::CompactSum, 3> moment, momentum, angular_momentum;

  void add(const Matter& matter) {
    const auto& [x, v] = std::pair(matter.offset, matter.velocity);
    mass.add(matter.mass);
    square.add(matter.mass * ((v[0] * v[0] + v[1] * v[1]) + v[2] * v[2]));
    for (std::size_t a = 0; a < 3; ++a) {
      const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
      moment[a].add(matter.mass * x[a]);
      momentum[a].add(matter.mass * v[a]);
      angular_momentum[a].add(matter.mass * (x[b] * v[c] - x[c] * v[b]));
    }
  }
};

/// What the mass sums of a halo say.
struct Body {
  double mass = 0.0;
  std::array<double, 3> center{};  ///< offset of the centre of mass; zero where there is no mass
  std::array<double, 3> axes{};    ///< see `semi_axes`, of the mass about its centre
};
Body body_of(const MassSums& sums);

/// What the motion sums say; all zero where there is no mass.
struct Motion {
  double mass = 0.0;
  std::array<double, 3> velocity{};          ///< of the centre of mass
  double dispersion = 0.0;                   ///< rms of velocities about it along one axis: sqrt(<|v - <v>|^2> / 3)
  std::array<double, 3> angular_momentum{};  ///< sum of m x * v about the centre of mass, * the cross product
};
Motion motion_of(const MotionSums& sums);

/// The semi-axes, longest first, of the homogeneous ellipsoid with this tensor of mean products of two offsets from the
/// centre: sqrt(5 lambda) for its eigenvalues lambda.
std::array<double, 3> semi_axes(const Tensor& tensor);

}  // namespace sidestream::analysis
