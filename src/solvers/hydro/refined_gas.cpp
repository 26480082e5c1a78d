#include "sidestream/solvers/refined_gas.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sidestream/comm/progress.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "solvers/hydro/hydro_gas.hpp"

namespace sidestream::solvers {

namespace {

using core::View4;
using mesh::Box;
using mesh::Field;

/// Density, momenta and total energy; the internal energy has no flux of its own.
constexpr int conserved_components = 5;

/// A child has at least this share of its parent's density: slopes along three axes may take more off together, but not
/// their momentum with it, so that what is left would be thrown out of the cell.
constexpr double least_child_share = 0.25;

/// Whether all of `cells` have a believable density and an internal energy above zero.
bool is_healthy(const HydroConfig& config, View4<const double> coarse, View4<double> u, const Box& cells,
                amr::RefinedAxes axes) {
  const bool has_own_energy = config.dual_energy_eta > 0.0;
  const int x = axes[0] ? 1 : 0, y = axes[1] ? 1 : 0, z = axes[2] ? 1 : 0;
  int ill = 0;
  core::for_each_row(cells, [&](int k, int j) {
    for (int i = cells.lo.x; i < cells.hi.x; ++i) {
      const double rho = u(density, k, j, i), parent = coarse(density, k >> z, j >> y, i >> x);
      const double moving = kinetic(1.0 / rho, u(momentum_x, k, j, i), u(momentum_y, k, j, i), u(momentum_z, k, j, i));
      const double thermal = has_own_energy ? u(internal_energy, k, j, i) : u(total_energy, k, j, i) - moving;
      ill += static_cast<int>(!(rho >= least_child_share * parent)) | static_cast<int>(!(thermal > 0.0));
    }
  });
  return ill == 0;
}

/// Adds the density of `gas`, scaled in each of the coarse `cells` so that its mean there is that of `parent`, to
/// `sum`, and sets `scaled` to it.
void add_scaled(View4<const double> gas, View4<const double> parent, const Box& cells, View4<double> scaled,
                View4<double> sum) {
  core::for_each_cell(cells, [=](int k, int j, int i) {
    const Box children{{2 * i, 2 * j, 2 * k}, {2 * i + 2, 2 * j + 2, 2 * k + 2}};
    double mass = 0.0;
    core::for_each_cell(children, [&](int z, int y, int x) { mass += gas(density, z, y, x); });
    const double factor = 8.0 * parent(k, j, i) / mass;
    core::for_each_cell(children, [=](int z, int y, int x) {
      scaled(z, y, x) = factor * gas(density, z, y, x);
      sum(z, y, x) += scaled(z, y, x);
    });
  });
}

void copy_owned(const Field<double>& state, Field<double>& copy) {
  for (int b = 0; b < state.blocks(); ++b) {
    const auto from = state.view(b);
    const auto to = copy.view(b);
    const Box box = state.box(b);
    for (int c = 0; c < state.components(); ++c)
      core::for_each_row(
          box, [&](int k, int j) { std::copy_n(&from(c, k, j, box.lo.x), box.extent().x, &to(c, k, j, box.lo.x)); });
  }
}

}  // namespace

amr::Interpolation gas_interpolation(const HydroConfig& config) {
  return [config](View4<const double> coarse, View4<double> fine, const Box& region, amr::RefinedAxes axes) {
    amr::interpolate_limited(coarse, fine, region, axes);
    if (!is_healthy(config, coarse, fine, region, axes))
      core::for_each_cell(amr::coarsened(region, axes), [&](int K, int J, int I) {
        const Box children = intersection(region, amr::refined(Box{{I, J, K}, {I + 1, J + 1, K + 1}}, axes));
        if (!is_healthy(config, coarse, fine, children, axes)) amr::inject(coarse, fine, children, axes);
      });
    follow_total_energy(config, fine, region);
  };
}

RefinedGas::RefinedGas(const comm::Communicator& comm, const HydroConfig& config, mesh::Hierarchy hierarchy,
                       std::vector<Field<double>> state, amr::TimeLevels time_levels, GasBoundary boundary)
    : comm_(comm.duplicate()),
      config_(config),
      hierarchy_(std::move(hierarchy)),
      time_levels_(time_levels),
      boundary_(std::move(boundary)),
      interpolation_(gas_interpolation(config)),
      state_(std::move(state)) {
  core::require(static_cast<int>(state_.size()) == finest_level() + 1, "gas has one state for each level");
  plan();
  settle();
}

void RefinedGas::settle() {
  for (int level = finest_level(); level >= 0; --level) {
    if (level < finest_level()) average_down(level);
    follow_total_energy(level, false);
  }
}

void RefinedGas::set_scheme(const HydroConfig& config, amr::TimeLevels time_levels) {
  config_.cfl = config.cfl;
  config_.riemann = config.riemann;
  config_.flattening = config.flattening;
  time_levels_ = time_levels;
  if (time_levels == amr::TimeLevels::equal)
    for (Field<double>& field : untouched_) field = {};  // which nobody keeps up to date then
  hydro_.clear();
  for (int level = 0; level <= finest_level(); ++level) hydro_.emplace_back(config_, hierarchy_.geometry(level));
}

// Plans of levels whose blocks are where they were stay as they are, and so do those between two such levels.
void RefinedGas::plan() {
  std::vector<bool> stays;
  for (std::size_t l = 0; l <= static_cast<std::size_t>(finest_level()); ++l)
    stays.push_back(l < ghosts_.size() && ghosts_[l].layout() == hierarchy_.layout(static_cast<int>(l)));
  std::vector<redistribute::GhostFill> old_ghosts = std::exchange(ghosts_, {});
  std::vector<amr::LevelTransfer> old_transfers = std::exchange(transfers_, {});
  std::vector<amr::FluxRegister> old_registers = std::exchange(registers_, {});
  std::vector<Field<double>> old_older = std::exchange(older_, {});
  std::vector<Field<double>> old_untouched = std::exchange(untouched_, {});
  inner_ghosts_.clear();
  for (std::vector<double>* grown : {&grown_, &older_grown_, &untouched_grown_})
    grown->assign(static_cast<std::size_t>(finest_level()) + 1, 1.0);
  hydro_.clear();
  fluxes_.clear();
  uses_.clear();
  outlines_.clear();
  base_level_ = hierarchy_.coarsest_leaf_level();
  for (int level = 0; level <= finest_level(); ++level) {
    const auto l = static_cast<std::size_t>(level);
    const mesh::Layout& layout = hierarchy_.layout(level);
    hydro_.emplace_back(config_, hierarchy_.geometry(level));
    if (stays[l])
      ghosts_.push_back(std::move(old_ghosts[l]));
    else
      ghosts_.emplace_back(comm_, layout, hydro_ghosts(hierarchy_.geometry(level).domain));
    fluxes_.emplace_back(hierarchy_, level, comm_.rank(), conserved_components);
    auto& uses = uses_.emplace_back();
    for (const std::int32_t block : layout.boxes_of(comm_.rank()))
      uses.push_back(hierarchy_.is_leaf(level, block)        ? BlockUse::leaf
                     : hierarchy_.is_near_leaf(level, block) ? BlockUse::covered
                                                             : BlockUse::idle);
    if (level == finest_level()) break;
    if (l < old_older.size())
      older_.emplace_back(layout, std::move(old_older[l]));  // for its memory: `advance` sets it
    else
      older_.emplace_back(layout, comm_.rank(), gas_components);
    untouched_.emplace_back();
    if (l < old_untouched.size() && old_untouched[l].components() > 0)
      untouched_.back() = Field<double>(layout, std::move(old_untouched[l]));
    if (stays[l] && stays[l + 1]) {
      transfers_.push_back(std::move(old_transfers[l]));
      registers_.push_back(std::move(old_registers[l]));
      continue;
    }
    transfers_.emplace_back(comm_, hierarchy_, level, hydro_ghost);
    if (l < old_transfers.size()) transfers_.back().take_memory(std::move(old_transfers[l]));
    registers_.emplace_back(comm_, hierarchy_, level, conserved_components);
  }
}

double RefinedGas::largest_step() const {
  double step = std::numeric_limits<double>::infinity(), steps_of_level = 1.0;
  for (int level = base_level_; level <= finest_level(); ++level) {
    step = std::min(step, steps_of_level * hydro_[static_cast<std::size_t>(level)].largest_step(state(level)));
    steps_of_level *= amr::substeps(time_levels_);
  }
  return comm_.min(step);
}

amr::FillOutside RefinedGas::outside_at(double time) const {
  if (!boundary_) return {};
  return [this, time](Field<double>& field, const mesh::Geometry& geometry) { boundary_(field, geometry, time); };
}

void RefinedGas::begin_with_half(int level) {
  const auto l = static_cast<std::size_t>(level);
  if (level == finest_level() || time_levels_ == amr::TimeLevels::equal) return;
  if (untouched_[l].components() == 0) untouched_[l] = {hierarchy_.layout(level), comm_.rank(), gas_components};
  copy_owned(state_[l], untouched_[l]);
  untouched_grown_[l] = grown_[l];
}

void RefinedGas::expand(int level, double factor) {
  const auto l = static_cast<std::size_t>(level);
  expansion_source(state_[l], factor);
  grown_[l] *= factor;
}

// Data of a level with the expansion of the next finer one.
amr::CoarseState RefinedGas::coarse_state(const Field<double>& state, double grown, int finer_level) const {
  const double factor = grown_[static_cast<std::size_t>(finer_level)] / grown;
  if (factor == 1.0) return {state};
  return {state, [factor](Field<double>& copy) { expansion_source(copy, factor); }};
}

// Where steps begin with a half of a kick, half as much of it as the coarser level took is in the finer one's first
// step, and what lies halfway between that level's beginning and end is in its second.
void RefinedGas::fill_ghosts(int level, double time, double coarse_weight) {
  const auto l = static_cast<std::size_t>(level);
  const amr::FillOutside outside = outside_at(time);
  ghosts_[l].fill(state_[l]);
  if (level > base_level_) {
    const std::size_t c = l - 1;
    const amr::CoarseState older = coarse_state(older_[c], older_grown_[c], level);
    if (coarse_weight == 0.0 && untouched_[c].components() > 0)
      transfers_[c].fill_ghosts(coarse_state(untouched_[c], untouched_grown_[c], level), older, 0.5, state_[l],
                                interpolation_, outside);
    else
      transfers_[c].fill_ghosts(older, coarse_state(state_[c], grown_[c], level), coarse_weight, state_[l],
                                interpolation_, outside);
  }
  if (outside) outside(state_[l], hierarchy_.geometry(level));
}

void RefinedGas::fill_ghosts_of_all(double time, std::int32_t layers) {
  const std::int32_t even = std::min(hydro_ghost, layers + layers % 2);
  if (inner_layers_ != even) inner_ghosts_.clear();
  inner_layers_ = even;
  if (even < hydro_ghost)
    for (int level = static_cast<int>(inner_ghosts_.size()); level <= finest_level(); ++level)
      inner_ghosts_.emplace_back(comm_, hierarchy_.layout(level),
                                 mesh::ghosts_of_active_axes(hierarchy_.geometry(level).domain, even));
  const auto& ghosts = even < hydro_ghost ? inner_ghosts_ : ghosts_;
  const amr::FillOutside outside = outside_at(time);
  for (int level = base_level_; level <= finest_level(); ++level) {
    const auto l = static_cast<std::size_t>(level);
    ghosts[l].fill(state_[l]);
    if (level > base_level_) transfers_[l - 1].fill_ghosts(state_[l - 1], state_[l], interpolation_, outside, even);
    if (outside) outside(state_[l], hierarchy_.geometry(level));
  }
}

void RefinedGas::advance(int level, double dt) {
  const auto l = static_cast<std::size_t>(level);
  if (level < finest_level()) {
    copy_owned(state_[l], older_[l]);
    older_grown_[l] = grown_[l];
  }
  books_ += hydro_[l].advance(state_[l], dt, &fluxes_[l], uses_[l], epoch_, [this] { comm::progress(comm_); });
  for (int b = 0; b < state_[l].blocks(); ++b)
    cell_updates_ += uses_[l][static_cast<std::size_t>(b)] == BlockUse::idle ? 0 : state_[l].box(b).volume();
  if (level < finest_level()) {
    registers_[l].reset();
    registers_[l].add_coarse(fluxes_[l], dt);
  }
  if (level > 0) registers_[l - 1].add_fine(fluxes_[l], dt);
}

void RefinedGas::synchronize(int level) {
  const auto l = static_cast<std::size_t>(level);
  registers_[l].apply(state_[l], [&](int block, mesh::Int3 cell) {
    books_.energy_floors += solvers::follow_total_energy(
        config_, state_[l].view(block), {cell, cell + mesh::Int3{1, 1, 1}}, &books_.floor_energy, worth(level));
  });
  average_down(level);
}

// What is covered takes the mean of its children.
void RefinedGas::average_down(int level) {
  transfers_[static_cast<std::size_t>(level)].average_down(state(level + 1), state(level));
  follow_total_energy(level, true);
}

void RefinedGas::follow_total_energy(int level, bool refined_blocks_only) {
  Field<double>& state = this->state(level);
  for (int b = 0; b < state.blocks(); ++b)
    if (!is_leaf(level, b))
      solvers::follow_total_energy(config_, state.view(b), state.box(b));
    else if (!refined_blocks_only)
      books_.energy_floors +=
          solvers::follow_total_energy(config_, state.view(b), state.box(b), &books_.floor_energy, worth(level));
}

bool RefinedGas::is_leaf(int level, int block) const {
  return uses_[static_cast<std::size_t>(level)][static_cast<std::size_t>(block)] == BlockUse::leaf;
}

// Adds the energy of the leaves that are none in `other`, times `sign`, to what floors brought in.
void RefinedGas::book_leaf_energy(const mesh::Forest& other, double sign) {
  const mesh::Forest& forest = hierarchy_.forest();
  for (int level = 0; level <= finest_level(); ++level) {
    const auto own = hierarchy_.layout(level).boxes_of(comm_.rank());
    for (int b = 0; b < state(level).blocks(); ++b) {
      if (!is_leaf(level, b)) continue;
      const std::int32_t there = other.find(forest.key(level, own[static_cast<std::size_t>(b)]));
      if (there >= 0 && other.is_leaf(level, there)) continue;
      core::for_each_cell(state(level).box(b), [&, u = state(level).view(b)](int k, int j, int i) {
        books_.floor_energy.add(sign * worth(level) * u(total_energy, k, j, i));
      });
    }
  }
}

void RefinedGas::advance_all(double time, double dt) {
  amr::subcycle(
      {.level = base_level_}, finest_level(), time_levels_,
      [&](const amr::LevelStep& step) {
        fill_ghosts(step.level, time + step.begin * dt, step.coarse_weight);
        advance(step.level, (step.end - step.begin) * dt);
      },
      [&](int level) { synchronize(level); });
  average_below_base();
}

void RefinedGas::average_below_base() {
  for (int level = base_level_; level-- > 0;) average_down(level);
}

void RefinedGas::add_density(int level, Field<double>& density) const {
  for (int b = 0; b < density.blocks(); ++b)
    core::for_each_cell(density.box(b), [to = density.view(b), gas = state(level).view(b)](int k, int j, int i) {
      to(k, j, i) += gas(solvers::density, k, j, i);
    });
}

void RefinedGas::add_density_ahead(int level, std::span<Field<double>> density) const {
  for (int l = static_cast<int>(outlines_.size()); l < finest_level(); ++l)
    outlines_.emplace_back(comm_, hierarchy_.layout(l), mesh::coarsened(hierarchy_.layout(l + 1)));
  add_density(level, density[static_cast<std::size_t>(level)]);
  Field<double> coarse(hierarchy_.layout(level), comm_.rank());
  add_density(level, coarse);
  for (auto l = static_cast<std::size_t>(level) + 1; l < density.size(); ++l) {
    Field<double> fine(hierarchy_.layout(static_cast<int>(l)), comm_.rank());
    Field<double> parents(mesh::coarsened(fine.layout()), comm_.rank());
    outlines_[l - 1].apply(coarse, parents);
    for (int b = 0; b < fine.blocks(); ++b)
      add_scaled(state_[l].view(b), parents.view(b), parents.box(b), fine.view(b), density[l].view(b));
    coarse = std::move(fine);
  }
}

void RefinedGas::move_to(const mesh::Hierarchy& hierarchy, double time) {
  // Children keep the energy of their cell but where it is too little for their motions, which only the total energy
  // alone must repair.
  const bool may_add_energy = config_.dual_energy_eta == 0.0;
  const mesh::Forest before = hierarchy_.forest();
  if (may_add_energy) book_leaf_energy(hierarchy.forest(), -1.0);
  state_ = amr::carried_over(comm_, hierarchy_, hierarchy, std::move(state_), interpolation_, outside_at(time));
  hierarchy_ = hierarchy;
  plan();
  if (may_add_energy) book_leaf_energy(before, 1.0);
}

}  // namespace sidestream::solvers
