// How the mesh of a universe changes.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gas_quantity.hpp"
#include "part_timer.hpp"
#include "sidestream/amr/adaptation.hpp"
#include "sidestream/amr/level_transfer.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "tagging.hpp"
#include "universe.hpp"

namespace sidestream::sims {

using mesh::Field;

namespace {

using Levels = std::vector<Field<double>>;

// `field` with `ghost` filled layers of ghost cells; those beside coarser blocks hold the values of these.
Levels with_ghosts(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, const Levels& field,
                   std::int32_t ghost) {
  Levels grown;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const auto l = static_cast<std::size_t>(level);
    Field<double>& to = grown.emplace_back(hierarchy.layout(level), comm.rank(), 1, ghost);
    for (int b = 0; b < to.blocks(); ++b) {
      const auto from_view = field[l].view(b);
      const auto to_view = to.view(b);
      core::for_each_cell(to.box(b), [=](int k, int j, int i) { to_view(k, j, i) = from_view(k, j, i); });
    }
    if (ghost == 0) continue;
    redistribute::GhostFill(comm, hierarchy.layout(level), ghost).fill(to);
    if (level > 0) amr::LevelTransfer(comm, hierarchy, level - 1, ghost).fill_ghosts(grown[l - 1], to, amr::inject);
  }
  return grown;
}

// Where there are fewer levels than before, the particles of those that are gone go to the finest that is left.
void fit_levels(std::vector<mesh::Particles>& levels, std::size_t count) {
  mesh::Particles none = levels.front();
  none.resize(0);
  for (; levels.size() > count; levels.pop_back()) mesh::append(levels.back(), levels[levels.size() - 2]);
  levels.resize(count, none);
}

}  // namespace

std::vector<std::vector<amr::Tags>> Universe::judge(double a) {
  const auto& criteria = config_.amr.criteria;
  const std::int32_t ghost = amr::ghost_of(criteria);
  const auto is_dark = [](const std::string& name) { return name.starts_with("dark_matter"); };
  Levels dark_matter;
  if (std::ranges::any_of(amr::fields_of(criteria), is_dark))
    dark_matter = with_ghosts(comm_, hierarchy_, dark_matter_density(), ghost);
  if (gas_ && ghost > 0)
    for (int level = 0; level <= finest_level(); ++level) gas_->fill_ghosts(level, 0.0, 1.0);

  const double dark_mean = config_.parameters.matter_density() - config_.gas_mean_density();
  const auto write = [&](const std::string& name, int level, int block, const mesh::Box& cells,
                         core::View4<double> out) {
    if (is_dark(name)) {
      const core::View4<const double> density = dark_matter[static_cast<std::size_t>(level)].view(block);
      const double unit = name == "dark_matter_overdensity" ? 1.0 / dark_mean : 1.0;
      core::for_each_cell(cells, [=](int k, int j, int i) { out(k, j, i) = unit * density(k, j, i); });
    } else {
      const GasQuantity value(config_, name, a);
      const core::View4<const double> state = gas(level).view(block);
      core::for_each_cell(cells, [=](int k, int j, int i) { out(k, j, i) = value(state, k, j, i); });
    }
  };
  const double four_pi_g = 4.0 * std::numbers::pi * core::units::gravitational_constant * a;
  return tag_blocks(hierarchy_, comm_.rank(), criteria, {config_.hydro.gamma, four_pi_g}, write);
}

bool Universe::adapt(double a) {
  bool is_changed = false;
  timed(seconds_, "regrid", [&] {
    const mesh::Forest forest = amr::adapted(comm_, hierarchy_, judge(a), config_.amr.limits());
    refusal_ = exceeded_budget(config_.amr, forest, config_.bytes_per_cell() * std::pow(config_.mesh.block, 3));
    is_changed = refusal_.empty() && !(forest == hierarchy_.forest());
    if (is_changed) move_to(mesh::Hierarchy(forest, hierarchy_.geometry(0), comm_.size(), amr::block_costs(forest)));
  });
  return is_changed;
}

void Universe::move_to(const mesh::Hierarchy& hierarchy) {
  hierarchy_ = hierarchy;
  if (gas_) gas_->move_to(hierarchy, 0.0);
  fit_levels(particles_, static_cast<std::size_t>(finest_level()) + 1);
  redistribute::migrate_levels(comm_, hierarchy, particles_);
  particle_mesh_ = solvers::RefinedParticleMesh(comm_, hierarchy, total_particles_);
  gravity_.move_to(hierarchy);
  largest_momentum_.clear();
  for (const auto& particles : particles_) largest_momentum_.push_back(solvers::largest_momentum(particles));
  allocate_density();
}

}  // namespace sidestream::sims
