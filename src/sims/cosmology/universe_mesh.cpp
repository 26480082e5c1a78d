// How the mesh of a universe changes.
#include <algorithm>
#include <numbers>

#include "sidestream/amr/adaptation.hpp"
#include "sidestream/amr/level_transfer.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sims/cosmology/universe.hpp"
#include "sims/cosmology/universe_gas.hpp"
#include "sims/gas/gas_quantities.hpp"
#include "sims/tagging.hpp"

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

// The number of all ranks' particles in each leaf of `forest`, whose root grid is that of `hierarchy`.
std::vector<std::vector<std::int64_t>> particles_in_blocks(const comm::Communicator& comm, const mesh::Forest& forest,
                                                           const mesh::Hierarchy& hierarchy,
                                                           const std::vector<mesh::Particles>& levels) {
  std::vector<std::vector<std::int64_t>> counts;
  for (int level = 0; level <= forest.finest_level(); ++level)
    counts.emplace_back(static_cast<std::size_t>(forest.size(level)), 0);
  const mesh::Geometry finest = hierarchy.geometry(0).refined(forest.finest_level());
  for (const mesh::Particles& particles : levels)
    for (std::size_t p = 0; p < particles.size(); ++p) {
      mesh::Int3 block =
          cell_of(finest, {particles.position[0][p], particles.position[1][p], particles.position[2][p]});
      for (int axis = 0; axis < 3; ++axis) block[axis] /= forest.block();
      for (int level = forest.finest_level(); level >= 0; --level) {
        if (const std::int32_t index = forest.find({level, block}); index >= 0) {
          ++counts[static_cast<std::size_t>(level)][static_cast<std::size_t>(index)];
          break;
        }
        for (int axis = 0; axis < 3; ++axis) block[axis] >>= 1;
      }
    }
  for (auto& of_level : counts) comm.sum(std::span(of_level));
  return counts;
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
  if (std::ranges::any_of(stored_fields_of(criteria, config_.amr.derived), is_dark))
    dark_matter = with_ghosts(comm_, hierarchy_, dark_matter_density(), ghost);
  if (gas_ && ghost > 0) gas_->fill_ghosts_of_all(0.0, ghost);

  const double dark_mean = config_.parameters.matter_density() - config_.gas_mean_density();
  const auto write = [&, table = universe_gas(config_, a, heating_ ? heating_->physics() : nullptr)](
                         const std::string& name, int level, int block, const mesh::Box& cells,
                         core::View4<double> out) {
    if (is_dark(name)) {
      const core::View4<const double> density = dark_matter[static_cast<std::size_t>(level)].view(block);
      const double unit = name == "dark_matter_overdensity" ? 1.0 / dark_mean : 1.0;
      core::for_each_cell(cells, [=](int k, int j, int i) { out(k, j, i) = unit * density(k, j, i); });
    } else {
      find(table, name)->write(gas(level).view(block), cells, out);
    }
  };
  // For the Jeans length in comoving units, from the pressure with proper velocities.
  const double four_pi_g = 4.0 * std::numbers::pi * core::units::gravitational_constant / a;
  return tag_blocks(hierarchy_, comm_.rank(), criteria, {config_.hydro.gamma, four_pi_g, a}, write,
                    config_.amr.derived);
}

bool Universe::adapt(double a) {
  bool is_changed = false;
  core::timed(bill_, "regrid", [&] {
    const mesh::Forest forest = amr::adapted(comm_, hierarchy_, judge(a), config_.amr.limits());
    refusal_ = exceeded_budget(config_.amr, forest, config_.bytes_per_cell() * core::pow(config_.mesh.block, 3));
    is_changed = refusal_.empty() && !(forest == hierarchy_.forest());
    if (is_changed) move_to(mesh::Hierarchy(forest, hierarchy_.geometry(0), comm_.size(), costs_of(forest)));
  });
  return is_changed;
}

// What the blocks of `forest` cost a step: their gas and the particles in them, by the times that both took so far.
std::vector<std::vector<double>> Universe::costs_of(const mesh::Forest& forest) const {
  const auto seconds_of = [&](const char* part) {
    core::ExactSum sum;
    sum.add(bill_.seconds({part, "simulation"}));
    return comm_.sum(sum);
  };
  const auto each = [](double seconds, std::int64_t count) {
    return count > 0 ? seconds / static_cast<double>(count) : 0.0;
  };
  const double cell_s =
      each(seconds_of("hydro") + seconds_of("heating") + seconds_of("gravity"), comm_.sum(cell_updates()));
  const double particle_s = each(seconds_of("particles"), comm_.sum(particle_updates_));

  std::vector<std::vector<double>> costs = amr::block_costs(forest);
  if (cell_s == 0.0 || particle_s == 0.0) return costs;
  const double particle_share = particle_s / (cell_s * core::pow(config_.mesh.block, 3));
  const std::vector<std::vector<std::int64_t>> counts = particles_in_blocks(comm_, forest, hierarchy_, particles_);
  for (std::size_t level = 0; level < costs.size(); ++level)
    for (std::size_t b = 0; b < costs[level].size(); ++b)
      costs[level][b] += particle_share * static_cast<double>(counts[level][b]);
  return costs;
}

void Universe::move_to(const mesh::Hierarchy& hierarchy) {
  hierarchy_ = hierarchy;
  if (gas_) gas_->move_to(hierarchy, 0.0);
  fit_levels(particles_, static_cast<std::size_t>(finest_level()) + 1);
  redistribute::migrate_levels(comm_, hierarchy, particles_, 0, solvers::cloud_margin);
  particle_mesh_ = solvers::RefinedParticleMesh(comm_, hierarchy, total_particles_, room_);
  gravity_.move_to(hierarchy);
  largest_momentum_.clear();
  for (const auto& particles : particles_) largest_momentum_.push_back(solvers::largest_momentum(particles));
  allocate_density();
}

}  // namespace sidestream::sims
