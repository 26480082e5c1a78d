#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/spectral/incompressible_flow.hpp"
#include "sidestream/solvers/spectral/spectral_transform.hpp"

namespace sidestream::solvers {

/// The attributes that hold the velocity of a tracer.
inline const std::array<std::string, 3> tracer_velocities{"velocity_x", "velocity_y", "velocity_z"};

/// Points that a flow carries: dX/dt = u(X, t), advanced with the stages of the flow itself, so with the order of its
/// scheme. Between cells u is the cubic spline through all of them (Yeung & Pope 1988, J. Comput. Phys. 79, 373), of
/// fourth order, whose coefficients are the waves of u over those of a B-spline. Paths have the same bits on any ranks.
template <typename Real>
class Tracers {
 public:
  /// Tracers move by less than this in a step, in cells: more than any step that is stable.
  static constexpr std::int32_t reach = 2;
  /// Layers of ghost cells, fewer than the cells along any axis that has more than one.
  static constexpr std::int32_t ghost = reach + 2;

  /// Of the steps of `flow`, which outlives them, as `comm` does. Collective, as are all members but the plain
  /// accessors.
  Tracers(const comm::Communicator& comm, const IncompressibleFlow<Real>& flow);

  /// `count` particles with the ids 0, 1, ..., each where its id and the seed put it.
  void scatter(std::int64_t count, std::uint64_t seed);
  /// Those of all ranks, wherever they are.
  void add(mesh::Particles particles);

  int sets() const { return static_cast<int>(sets_.size()); }
  /// Of this rank, in the cells of the flow.
  const mesh::Particles& set(int n) const { return sets_[static_cast<std::size_t>(n)].particles; }
  /// The same with the attributes `tracer_velocities`, those of the flow where they are.
  mesh::Particles with_velocities(int n);

  /// What `IncompressibleFlow::advance` calls at each stage. Throws core::Error on all ranks at the end of a step in
  /// which a tracer went further than `reach`.
  void advance(const FlowStage& stage, Spectrum<Real>& velocity);

 private:
  struct Set {
    mesh::Particles particles;
    std::array<std::vector<double>, 3> start, sum;  // of a step: where it began, and how far its stages lead
    std::array<std::vector<double>, 3> velocity;
  };
  void make_spline(Spectrum<Real>& velocity);
  /// The velocities of the spline; whether all particles are within reach.
  bool interpolate(const mesh::Particles& particles, std::array<std::vector<double>, 3>& velocity) const;

  const comm::Communicator& comm_;
  const IncompressibleFlow<Real>& flow_;
  SpectralTransform<Real> transform_;
  redistribute::GhostFill ghosts_;
  std::array<std::vector<double>, 3> factors_;  // of each mode along an axis: one over the wave of a B-spline
  mesh::Field<Real> spline_;                    // coefficients of the three components
  std::vector<Set> sets_;
  bool is_within_reach_ = true;
};

}  // namespace sidestream::solvers
