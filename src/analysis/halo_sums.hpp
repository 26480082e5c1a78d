#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "analysis/fixed_point.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// A bit of matter in a halo or group: a particle, or a cell. Its sums below do not depend on the order in which matter
/// is added, nor on how it is dealt to ranks: each rank adds up what it has of a halo, the sums of the ranks are added,
/// and the results are taken from the total.
///
///     MatterBounds bounds;                              // 1. the same units for all halos on all ranks
///     for (...) bounds.include(matter);
///     const SumUnits units(bounds.over_ranks(comm));
///     sums[halo].add(matter, units);                    // 2. on each rank
///     total.add(sums_of_another_rank);                  // 3. on the rank that owns the halo
///     const Body body = body_of(total, units);          // 4. mass, centre, shape
///
/// Offsets are taken from one reference point of the halo, which all ranks know exactly (a cell, a particle), each as
/// the periodic image that belongs to the halo. Each must be computed from the point and the reference alone.
struct Matter {
  double mass = 0.0;
  std::array<double, 3> offset{};    ///< from the reference point, along x, y, z
  std::array<double, 3> velocity{};  ///< zero where it is not known
  std::array<double, 3> size{};      ///< sides of the cell that it fills evenly; zero for a particle
};

/// The largest magnitudes among all matter that is added up, which fix the units of the sums.
struct MatterBounds {
  double mass = 0.0, distance = 0.0, speed = 0.0;  ///< along one axis

  void include(const Matter& matter) {
    mass = std::max(mass, std::abs(matter.mass));
    for (std::size_t a = 0; a < 3; ++a) {
      distance = std::max({distance, std::abs(matter.offset[a]), matter.size[a]});
      speed = std::max(speed, std::abs(matter.velocity[a]));
    }
  }
  /// Collective.
  MatterBounds over_ranks(const comm::Communicator& comm) const {
    return {comm.max(mass), comm.max(distance), comm.max(speed)};
  }
};

/// The units of the integers that stand for the terms of each kind of sum.
struct SumUnits {
  /// `bounds` are finite and the same on all ranks.
  explicit SumUnits(const MatterBounds& bounds)
      : mass(bounds.mass),
        moment(bounds.mass * bounds.distance),
        second(2.0 * bounds.mass * bounds.distance * bounds.distance),
        momentum(bounds.mass * bounds.speed),
        angular_momentum(2.0 * bounds.mass * bounds.distance * bounds.speed),
        square(3.0 * bounds.mass * bounds.speed * bounds.speed) {}

  FixedPoint mass, moment, second, momentum, angular_momentum, square;
};

/// The pairs of axes of the six components of a symmetric tensor.
constexpr std::array<std::array<std::size_t, 2>, 6> tensor_axes{{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}};
using Tensor = std::array<double, 6>;

/// Sums of mass, mass times offset, and mass times the product of two offsets.
struct MassSums {
  Int128 mass = 0;
  std::array<Int128, 3> moment{};
  std::array<Int128, 6> second{};  ///< in the order of `tensor_axes`

  void add(const Matter& matter, const SumUnits& units) {
    mass += units.mass.of(matter.mass);
    std::array<double, 3> weighted{};
    for (std::size_t a = 0; a < 3; ++a) {
      weighted[a] = matter.mass * matter.offset[a];
      moment[a] += units.moment.of(weighted[a]);
    }
    for (std::size_t t = 0; t < 6; ++t) {
      const auto [a, b] = tensor_axes[t];
      const double within = a == b ? matter.mass * (matter.size[a] * matter.size[a] / 12.0) : 0.0;
      second[t] += units.second.of(weighted[a] * matter.offset[b] + within);
    }
  }
  void add(const MassSums& other) {
    mass += other.mass;
    for (std::size_t a = 0; a < 3; ++a) moment[a] += other.moment[a];
    for (std::size_t t = 0; t < 6; ++t) second[t] += other.second[t];
  }
};

/// Sums over matter with velocities: of mass, momentum and angular momentum, and of mass times velocity squared.
struct MotionSums {
  Int128 mass = 0, square = 0;
  std::array<Int128, 3> moment{}, momentum{}, angular_momentum{};

  void add(const Matter& matter, const SumUnits& units) {
    const auto& [x, v] = std::pair(matter.offset, matter.velocity);
    mass += units.mass.of(matter.mass);
    square += units.square.of(matter.mass * ((v[0] * v[0] + v[1] * v[1]) + v[2] * v[2]));
    for (std::size_t a = 0; a < 3; ++a) {
      const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
      moment[a] += units.moment.of(matter.mass * x[a]);
      momentum[a] += units.momentum.of(matter.mass * v[a]);
      angular_momentum[a] += units.angular_momentum.of(matter.mass * (x[b] * v[c] - x[c] * v[b]));
    }
  }
  void add(const MotionSums& other) {
    mass += other.mass;
    square += other.square;
    for (std::size_t a = 0; a < 3; ++a) {
      moment[a] += other.moment[a];
      momentum[a] += other.momentum[a];
      angular_momentum[a] += other.angular_momentum[a];
    }
  }
};

/// What the mass sums of a halo say.
struct Body {
  double mass = 0.0;
  std::array<double, 3> center{};  ///< offset of the centre of mass; zero where there is no mass
  std::array<double, 3> axes{};    ///< see `semi_axes`, of the mass about its centre
};
Body body_of(const MassSums& sums, const SumUnits& units);

/// What the motion sums say; all zero where there is no mass.
struct Motion {
  double mass = 0.0;
  std::array<double, 3> velocity{};          ///< of the centre of mass
  double dispersion = 0.0;                   ///< rms of velocities about it along one axis: sqrt(<|v - <v>|^2> / 3)
  std::array<double, 3> angular_momentum{};  ///< sum of m x * v about the centre of mass, * the cross product
};
Motion motion_of(const MotionSums& sums, const SumUnits& units);

/// The semi-axes, longest first, of the homogeneous ellipsoid with this tensor of mean products of two offsets from the
/// centre: sqrt(5 lambda) for its eigenvalues lambda.
std::array<double, 3> semi_axes(const Tensor& tensor);

}  // namespace sidestream::analysis
