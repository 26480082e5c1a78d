#pragma once

#include <array>
#include <complex>
#include <string>

#include "analysis/statistics/spectrum.hpp"
#include "analysis/turbulence/wave_numbers.hpp"
#include "sidestream/fft/modes.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

inline constexpr std::array velocity_names{"velocity_x", "velocity_y", "velocity_z"};

/// Throws core::Error where a snapshot of these cells has no flow of two or three dimensions.
void check_flow(const mesh::Box& domain);
/// Throws core::Error unless the snapshot has the three velocities, in a box that is periodic along its axes of more
/// than one cell.
void check_flow(const mesh::Snapshot& snapshot);

/// A quantity of the snapshot on `grid`. Collective. Throws core::Error naming the cell where a number is not finite.
ScalarView finite_field(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const CoveringGrid& grid,
                        const std::string& name);

/// A velocity in a periodic box, as waves: the one place where turbulence is transformed. Derivatives are those of the
/// sum of all waves. Memory: three transforms, 24 bytes a cell, beside the plan; each call takes two more.
class Flow {
 public:
  /// Collective, as are the members that transform. The layout is that of `velocity`, which may not change meanwhile.
  Flow(const comm::Communicator& comm, const std::array<ScalarView, 3>& velocity, const mesh::Geometry& geometry);

  const WaveNumbers& waves() const { return waves_; }
  const mesh::Geometry& geometry() const { return geometry_; }
  double cells() const { return static_cast<double>(geometry_.domain.volume()); }
  /// sum over cells of the component times exp(-i k.x)
  const Spectrum& velocity(int component) const { return velocity_[static_cast<std::size_t>(component)]; }

  /// The transform of a scalar on the same layout, not normalised.
  Spectrum transformed(const ScalarView& scalar) const;
  /// d(component) / d(axis) in each cell.
  mesh::Field<double> derivative(int component, int axis) const;
  /// The component of curl u along an axis in each cell.
  mesh::Field<double> vorticity(int axis) const;

  /// Calls `f(mode, u)` with the three amplitudes of each mode of this rank.
  template <typename F>
  void for_each_wave(F f) const {
    for (int b = 0; b < velocity_[0].blocks(); ++b)
      fft::for_each_mode(
          velocity_[0].box(b), plan_.cells(),
          [&, x = velocity_[0].view(b), y = velocity_[1].view(b), z = velocity_[2].view(b)](const fft::Mode& mode) {
            const auto [i, j, k] = mode.index;
            f(mode, std::array{x(k, j, i), y(k, j, i), z(k, j, i)});
          });
  }

 private:
  const comm::Communicator& comm_;
  mesh::Geometry geometry_;
  WaveNumbers waves_;
  fft::FftPlan<double> plan_;
  std::array<Spectrum, 3> velocity_;

  template <typename F>
  mesh::Field<double> in_cells(F amplitude_of) const;
};

/// Units of what follows from lengths and velocities.
struct FlowUnits {
  std::string length, velocity;  ///< empty where the simulation tells none

  explicit FlowUnits(const mesh::Snapshot& snapshot);
  /// That of velocity^`velocity_power` length^`length_power`, such as "(km/s)^2 Mpc".
  std::string of(int velocity_power, int length_power) const;
};

}  // namespace sidestream::analysis
