#pragma once

#include <vector>

#include "sidestream/amr/subcycle.hpp"
#include "sidestream/solvers/refined_gas.hpp"
#include "sims/gas/self_gravity.hpp"

namespace sidestream::sims {

/// The gravity of a gas on itself: of a periodic box, or in empty space where no axis is periodic. All members but
/// `kick` are collective.
class GasGravity {
 public:
  GasGravity(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, double four_pi_g);

  /// Goes over to another hierarchy of the same root grid; `solve` comes next.
  void move_to(const mesh::Hierarchy& hierarchy);

  /// All levels, at one time. The bits depend on the density alone: a restart needs no potential.
  void solve(const solvers::RefinedGas& gas);
  /// The level of `step`, whose gas is at the end of it, between `solve`s.
  void solve_level(const solvers::RefinedGas& gas, const amr::LevelStep& step);

  /// Accelerates the gas of a level for the time `dt`.
  void kick(solvers::RefinedGas& gas, int level, double dt) const;

  /// Half the integral of density times potential, of the last `solve`.
  double energy(const solvers::RefinedGas& gas) const;

 private:
  void allocate(const mesh::Hierarchy& hierarchy);

  const comm::Communicator& comm_;
  double four_pi_g_;
  SelfGravity gravity_;
  std::vector<mesh::Field<double>> density_, zero_;  // of each level
};

}  // namespace sidestream::sims
