#pragma once

namespace sidestream::solvers {

/// The lattice of a flow: nine velocities in a plane, nineteen in space.
enum class LatticeKind { d2q9, d3q19 };

/// What brings populations to equilibrium: one relaxation time, two, or one for the stress alone.
enum class CollisionKind { bgk, trt, regularised };

}  // namespace sidestream::solvers
