#include "solvers/gravity/level_multigrid.hpp"

#include <algorithm>
#include <numbers>

#include "sidestream/core/math.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::solvers {

namespace {

using mesh::Field;
using mesh::Layout;

// Ghost cells may not reach around the whole domain, so that keeps two cells an axis.
bool can_be_halved(const Layout& layout) {
  const mesh::Int3 cells = layout.domain().extent();
  return std::min({cells.x, cells.y, cells.z}) >= 4 && std::ranges::all_of(layout.boxes(), [](const mesh::Box& box) {
           const mesh::Int3 n = box.extent();
           return n.x % 2 == 0 && n.y % 2 == 0 && n.z % 2 == 0;
         });
}

// The correction vanishes, on average, over the coarse cell behind an open side: one width of the level's cells away
// from it. `cells`: how many of the level's cells a cell of this grid is wide.
SideRule vanishing_correction(int cells) {
  return {.near = static_cast<double>(2 - cells) / (2 + cells)};
}

}  // namespace

LevelMultigrid::Rung::Rung(const comm::Communicator& comm, const Layout& layout, const Layout& finer,
                           const std::array<double, 3>& cell_size, SideRule rule)
    : link(comm, layout, finer),
      poisson(comm, layout, cell_size, rule),
      correction(layout, comm.rank(), 1, 1),
      rhs(layout, comm.rank()),
      residual(layout, comm.rank()) {}

LevelMultigrid::LevelMultigrid(const comm::Communicator& comm, const LevelPoisson& level, const Layout& parents) {
  auto cell_size = level.cell_size();
  Layout layout = parents, finer = level.layout();
  for (int cells = 2;; cells *= 2) {
    for (double& size : cell_size) size *= 2.0;
    rungs_.emplace_back(comm, layout, finer, cell_size, vanishing_correction(cells));
    if (!can_be_halved(layout)) break;
    finer = layout;
    layout = mesh::coarsened(layout);
  }
}

void LevelMultigrid::cycle(const LevelPoisson& level, Field<double>& phi, const Field<double>& rhs,
                           Field<double>& residual) {
  level.relax(phi, rhs, sweeps, over_relaxation);
  level.fill_ghosts(phi);
  level.residual(phi, rhs, residual);
  correct(0, residual, phi);
  level.fill_ghosts(phi);
  level.relax(phi, rhs, sweeps, over_relaxation);
}

// Adds to `finer` the correction that the grids from `rung` down find for its residual.
void LevelMultigrid::correct(std::size_t rung, const Field<double>& finer_residual, Field<double>& finer) {
  Rung& grid = rungs_[rung];
  grid.link.average_down(finer_residual, grid.rhs);
  std::ranges::fill(grid.correction.all(), 0.0);
  if (rung + 1 == rungs_.size()) {
    const auto width = width_of(grid.poisson.layout());
    grid.poisson.relax(grid.correction, grid.rhs, width + 1, 2.0 / (1.0 + core::sin(std::numbers::pi / (width + 1))));
  } else {
    grid.poisson.relax(grid.correction, grid.rhs, sweeps, over_relaxation);
    grid.poisson.fill_ghosts(grid.correction);
    grid.poisson.residual(grid.correction, grid.rhs, grid.residual);
    correct(rung + 1, grid.residual, grid.correction);
    grid.poisson.fill_ghosts(grid.correction);
    grid.poisson.relax(grid.correction, grid.rhs, sweeps, over_relaxation);
  }
  grid.link.add_interpolated(grid.correction, finer);
}

}  // namespace sidestream::solvers
