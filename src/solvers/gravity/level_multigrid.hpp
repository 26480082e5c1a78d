#pragma once

#include <array>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "solvers/gravity/level_link.hpp"
#include "solvers/gravity/level_poisson.hpp"

namespace sidestream::solvers {

/// Sweeps before and after the correction by the coarser grid. Two each converge twice as fast and cost twice as much.
inline constexpr int sweeps = 1;
/// Red-black sweeps in three dimensions smooth best with some over-relaxation (Yavneh 1996, SIAM J. Sci. Comput. 17,
/// 180).
inline constexpr double over_relaxation = 1.15;

/// Multigrid for the Poisson equation on one level with given values behind its open sides: a ladder of grids on the
/// parents of the level's blocks, with n, n/2, ... cells, on which corrections vanish where the values are given. The
/// lowest rung is relaxed as often as it is wide in cells.
class LevelMultigrid {
 public:
  /// For the blocks of `level`, which refine those of `parents`. Collective.
  LevelMultigrid(const comm::Communicator& comm, const LevelPoisson& level, const mesh::Layout& parents);

  /// One V cycle for the equation of the `level` that this was made for, whose open sides follow `interface_rule`. The
  /// ghost cells of `phi` are filled before, and have to be filled anew after; `residual` is lost. Collective.
  void cycle(const LevelPoisson& level, mesh::Field<double>& phi, const mesh::Field<double>& rhs,
             mesh::Field<double>& residual);

 private:
  struct Rung;
  void correct(std::size_t rung, const mesh::Field<double>& finer_residual, mesh::Field<double>& finer);

  std::vector<Rung> rungs_;
};

/// A grid of the ladder and what it knows of a correction.
struct LevelMultigrid::Rung {
  Rung(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Layout& finer,
       const std::array<double, 3>& cell_size, SideRule rule);

  LevelLink link;  // to the next finer grid
  LevelPoisson poisson;
  mesh::Field<double> correction, rhs, residual;
};

}  // namespace sidestream::solvers
