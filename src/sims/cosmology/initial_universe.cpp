#include "sims/cosmology/initial_universe.hpp"

#include <algorithm>

#include "sidestream/amr/adaptation.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sims/cosmology/initial_gas.hpp"
#include "sims/tagging.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using mesh::Hierarchy;
using mesh::Particles;

// The mesh refined in the regions that are always refined, and as balance asks for, but no further: what starts with
// the resolution of a level is to keep it.
Hierarchy initial_hierarchy(const comm::Communicator& comm, const CosmologyConfig& config) {
  const auto hierarchy_of = [&](const mesh::Forest& forest) {
    return Hierarchy(forest, config.geometry(), comm.size(), amr::block_costs(forest));
  };
  std::vector<amr::Criterion> regions;
  for (const amr::Criterion& criterion : config.amr.criteria)
    if (criterion.fields.empty()) regions.push_back(criterion);
  Hierarchy hierarchy = hierarchy_of(mesh::Forest(config.mesh.extent(), config.mesh.block));
  for (int round = 0; round < config.amr.max_level; ++round) {
    const mesh::Forest forest =
        amr::adapted(comm, hierarchy, tag_blocks(hierarchy, comm.rank(), regions, {}, {}), config.amr.limits());
    if (forest == hierarchy.forest()) break;
    hierarchy = hierarchy_of(forest);
  }
  return hierarchy;
}

// One level of the universe, made on the whole box.
class Level {
 public:
  Level(const comm::Communicator& comm, const CosmologyConfig& config, const solvers::Background& background,
        const Hierarchy& hierarchy, int level, double a)
      : comm_(comm), config_(config), hierarchy_(hierarchy), level_(level), a_(a) {
    const mesh::Layout whole =
        level == 0 ? hierarchy.layout(0)
                   : mesh::Forest(hierarchy.geometry(level).domain.hi, config.mesh.block).layout(comm.size());
    solvers::InitialConditionsConfig initial = config.initial;
    for (auto& points : initial.particles) points <<= level;
    const auto power = solvers::initial_power(initial, config.parameters);
    const solvers::InitialConditions made(comm, whole, hierarchy.geometry(level), background, power, initial);
    const double gas_mean = config.gas_mean_density();
    particles_ = made.particles(a, config.parameters.matter_density() - gas_mean);
    lattice_ = made.lattice().domain();
    if (config.has_gas) gas_ = made.gas(a, gas_mean);
  }

  // The particles that start in leaves of this level, numbered after those of coarser lattices.
  Particles take_particles(std::int64_t first_id) {
    if (hierarchy_.finest_level() == 0) return std::move(particles_);
    Particles kept = particles_;
    kept.resize(0);
    std::vector<std::size_t> inside;
    for (std::size_t p = 0; p < particles_.size(); ++p)
      if (starts_in_leaf(particles_.id[p])) inside.push_back(p);
    kept.resize(inside.size());
    for (std::size_t n = 0; n < inside.size(); ++n) {
      kept.id[n] = particles_.id[inside[n]] + first_id;
      for (std::size_t axis = 0; axis < 3; ++axis) kept.position[axis][n] = particles_.position[axis][inside[n]];
      for (std::size_t i = 0; i < kept.attributes.size(); ++i)
        kept.attributes[i].values[n] = particles_.attributes[i].values[inside[n]];
    }
    kept.attributes.push_back(
        {solvers::mass_fraction_name, "1", std::vector<double>(kept.size(), core::pow(8.0, -level_))});
    particles_ = Particles();
    return kept;
  }

  std::int64_t lattice_points() const { return lattice_.volume(); }

  // The gas of this level's blocks, in conserved supercomoving variables. `coarser`: what was taken from the level
  // below. A region has as much gas on its own level as on the coarser one, so that none is made or lost: modes that
  // only the finer one has do not quite cancel within the region.
  Field<double> take_gas(const Field<double>* coarser) {
    const solvers::InitialGas initial = std::move(*gas_);
    const mesh::Layout& layout = hierarchy_.layout(level_);
    if (coarser == nullptr) return conserved_gas(config_, initial, a_);
    const redistribute::Redistribution cut(comm_, initial.density.layout(), layout);
    solvers::InitialGas part{Field<double>(layout, comm_.rank()), Field<double>(layout, comm_.rank(), 3)};
    cut.apply(initial.density, part.density);
    cut.apply(initial.velocity, part.velocity);
    const double excess =
        gas_mass_of(part.density, level_, [](std::int32_t) { return true; }) /
        gas_mass_of(*coarser, level_ - 1, [&](std::int32_t block) { return !hierarchy_.is_leaf(level_ - 1, block); });
    for (double& density : part.density.all()) density /= excess;
    return conserved_gas(config_, part, a_);
  }

 private:
  // Of the blocks of a level that `counts` holds for.
  template <typename Counts>
  double gas_mass_of(const Field<double>& gas, int level, Counts counts) const {
    core::ExactSum sum;
    const auto own = hierarchy_.layout(level).boxes_of(comm_.rank());
    for (int b = 0; b < gas.blocks(); ++b) {
      if (!counts(own[static_cast<std::size_t>(b)])) continue;
      const auto state = gas.view(b);
      core::for_each_cell(gas.box(b), [&](int k, int j, int i) { sum.add(state(solvers::density, k, j, i)); });
    }
    return comm_.sum(sum) * hierarchy_.geometry(level).cell_volume();
  }

  bool starts_in_leaf(std::int64_t id) const {
    const mesh::Int3 points = lattice_.hi, cells = hierarchy_.geometry(level_).domain.hi;
    const std::int64_t i = id % points.x, j = id / points.x % points.y, k = id / points.x / points.y;
    const auto cell = [](std::int64_t index, std::int32_t of, std::int32_t in) {
      return static_cast<std::int32_t>((2 * index + 1) * in / (2 * std::int64_t{of}));
    };
    const auto block = hierarchy_.layout(level_).find(
        {cell(i, points.x, cells.x), cell(j, points.y, cells.y), cell(k, points.z, cells.z)});
    return block >= 0 && hierarchy_.is_leaf(level_, block);
  }

  const comm::Communicator& comm_;
  const CosmologyConfig& config_;
  const Hierarchy& hierarchy_;
  int level_;
  double a_;
  Particles particles_;
  mesh::Box lattice_;
  std::optional<solvers::InitialGas> gas_;
};

}  // namespace

// The random field of a level is given up before the gas gets its ghost cells: together they would be the peak of the
// run's memory.
UniverseState initial_universe(const comm::Communicator& comm, const CosmologyConfig& config,
                               const solvers::Background& background, double a) {
  UniverseState state{initial_hierarchy(comm, config), {}, {}, {}};
  std::int64_t first_id = 0;
  for (int level = 0; level <= state.hierarchy.finest_level(); ++level) {
    Level made(comm, config, background, state.hierarchy, level, a);
    Particles particles = made.take_particles(first_id);
    first_id += made.lattice_points();
    if (level == 0) {
      state.particles.push_back(std::move(particles));
    } else {
      mesh::append(particles, state.particles.front());
      particles.resize(0);
      particles.mass = state.particles.front().mass;
      state.particles.push_back(std::move(particles));
    }
    if (config.has_gas) state.gas.push_back(made.take_gas(level > 0 ? &state.gas.back() : nullptr));
  }
  if (state.hierarchy.finest_level() > 0)
    redistribute::migrate_levels(comm, state.hierarchy, state.particles, 0, solvers::cloud_margin);
  return state;
}

}  // namespace sidestream::sims
