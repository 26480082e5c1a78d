#pragma once

#include <span>

#include "sidestream/solvers/spectral/incompressible_flow.hpp"
#include "solvers/spectral/flow_rows.hpp"

namespace sidestream::solvers {

/// A Runge-Kutta scheme with an integrating factor, as stages of `StageWeights` in units of the time step.
struct SchemeStages {
  std::span<const StageWeights> stages;
  double decay;    ///< time over which `decay` of a stage solves the linear terms
  double courant;  ///< largest stable product of the time step and the frequency of a wave that is carried
};

/// Rogallo (1981): u* = E (u + dt N(u)), u' = E (u + dt/2 N(u)) + dt/2 N(u*). Not stable without viscosity: a wave that
/// is carried by one radian in a step grows by an eighth of its fourth power.
/// Classical, in the frame of the linear solution (Canuto et al. 1988, appendix D.3).
inline SchemeStages stages_of(TimeScheme scheme) {
  using enum StageKind;
  static constexpr std::array<StageWeights, 2> rk2{{{first, 1.0, 0.5}, {last, 0.0, 0.5}}};
  static constexpr std::array<StageWeights, 4> rk4{
      {{first, 0.5, 1.0 / 6.0}, {middle, 0.5, 1.0 / 3.0}, {decaying, 1.0, 1.0 / 3.0}, {last, 0.0, 1.0 / 6.0}}};
  return scheme == TimeScheme::rk2 ? SchemeStages{rk2, 1.0, 2.0} : SchemeStages{rk4, 0.5, 2.828};
}

}  // namespace sidestream::solvers
