#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "sidestream/solvers/hydro.hpp"
#include "sidestream/solvers/refined_gravity.hpp"

namespace sidestream::sims {

/// The gravity of a periodic box and the accelerations it gives: by Fourier transform alone where the mesh is never
/// refined, on all levels together where it may be. -grad psi, lap psi = density - mean. What moves on a level is
/// pulled as if that level were the finest, within what all levels together give around it: a mesh that is even about a
/// particle does not let it pull itself (docs/concepts/gravity.md). All members but the accessors are collective.
class SelfGravity {
 public:
  /// What a mesh that is never refined uses during a solve alone is kept in `room`.
  SelfGravity(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, const solvers::GravityConfig& config,
              bool may_be_refined, const std::shared_ptr<core::Workroom>& room = nullptr);

  /// Goes over to another hierarchy of the same root grid; `solve` comes next.
  void move_to(const mesh::Hierarchy& hierarchy);

  /// Begins with potentials of an earlier run on the same mesh, which may be refined; `solve` comes next.
  void start_from(std::span<const mesh::Field<double>> potentials) { refined_->start_from(potentials); }

  /// All levels, at one time. `density[level]`: owned cells, refined ones hold averages.
  void solve(std::span<const mesh::Field<double>> density);

  /// One level between `solve`s, on a mesh that may be refined, at the part `coarse_weight` of the way from the coarser
  /// level's solution before to its present one. `density[l]` of it and of the finer levels, as they will be then.
  void solve_level(int level, std::span<const mesh::Field<double>> density, double coarse_weight);

  /// The same where the finer levels have come to that time: of all of them.
  void solve_from(int level, std::span<const mesh::Field<double>> density, double coarse_weight);

  /// Of the last solve, with two layers of filled ghost cells: on a mesh that may be refined, three components; on one
  /// that is never, the potential, whose differences are taken where they are needed, for memory's sake.
  const mesh::Field<double>& acceleration(int level) const;
  /// Accelerates the gas of a level.
  void kick(int level, double factor, mesh::Field<double>& gas, solvers::FastestWave* wave = nullptr) const;
  const mesh::Field<double>& potential(int level) const;

 private:
  mesh::Field<double> new_acceleration(int level) const;
  void accelerate(int level, std::span<const mesh::Field<double>> density, double coarse_weight);

  const comm::Communicator& comm_;
  mesh::Hierarchy hierarchy_;
  std::optional<solvers::Gravity> uniform_;
  std::optional<solvers::RefinedGravity> refined_;
  std::vector<mesh::Field<double>> acceleration_, older_;  // of each refined level; before its last `solve_level`
};

}  // namespace sidestream::sims
