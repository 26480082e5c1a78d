#include "sims/cosmology/universe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/largest_magnitude.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sims/checks/soundness.hpp"
#include "sims/gas/gas_edit.hpp"

namespace sidestream::sims {

using mesh::Field;

namespace {

constexpr int steps_between_sorts = 16;

// Part of a cell that a particle at rest may fall in a step of its level.
constexpr double largest_fall = 0.05;

std::int64_t count_of(const comm::Communicator& comm, const std::vector<mesh::Particles>& levels) {
  std::int64_t count = 0;
  for (const auto& particles : levels) count += static_cast<std::int64_t>(particles.size());
  return comm.sum(count);
}

double largest_of(const Field<double>& acceleration) {
  core::LargestMagnitude largest;
  for (int b = 0; b < acceleration.blocks(); ++b) {
    const auto g = acceleration.view(b);
    for (int axis = 0; axis < 3; ++axis)
      core::for_each_cell(acceleration.box(b), [&](int k, int j, int i) { largest.add(g(axis, k, j, i)); });
  }
  return largest.value();
}

}  // namespace

Universe::Universe(const comm::Communicator& comm, const CosmologyConfig& config, const solvers::Background& background,
                   std::shared_ptr<const solvers::HeatingCooling> heating, UniverseState state, core::Bill& bill)
    : comm_(comm),
      config_(config),
      background_(background),
      bill_(bill),
      hierarchy_(std::move(state.hierarchy)),
      particles_(std::move(state.particles)),
      total_particles_(count_of(comm, particles_)),
      room_(std::make_shared<core::Workroom>()),
      particle_mesh_(comm, hierarchy_, total_particles_, room_),
      gravity_(comm, hierarchy_, config.gravity, config.amr.max_level > 0, room_) {
  if (!state.gas.empty()) gas_.emplace(comm, config.hydro, hierarchy_, std::move(state.gas), config.amr.time_levels());
  if (heating) heating_.emplace(std::move(heating), bill_);
  if (!state.potentials.empty()) gravity_.start_from(state.potentials);
  for (const auto& particles : particles_) largest_momentum_.push_back(solvers::largest_momentum(particles));
  allocate_density();
}

void Universe::allocate_density() {
  density_.clear();
  for (int level = 0; level <= finest_level(); ++level) density_.emplace_back(hierarchy_.layout(level), comm_.rank());
}

std::int64_t Universe::edit(const couple::RegionEdit& edit, const GasUnits& units) {
  const std::int64_t cells = edit_gas(comm_, edit, units, *gas_);
  gas_step_.reset();
  solve_gravity();
  return cells;
}

// With equal steps, how far a particle may go depends on its level.
void Universe::take_up_scheme() {
  for (std::size_t l = 0; l < particles_.size(); ++l) largest_momentum_[l] = solvers::largest_momentum(particles_[l]);
  if (!gas_) return;
  gas_->set_scheme(config_.hydro, config_.amr.time_levels());
  gas_step_.reset();
}

std::vector<StepLimit> Universe::step_limits(double a) const {
  const double infinity = std::numeric_limits<double>::infinity();
  const double pull = 4.0 * std::numbers::pi * core::units::gravitational_constant * a;
  double crossing = infinity, fall = infinity, steps_of_level = 1.0;
  for (int level = 0; level <= finest_level(); ++level) {
    const auto l = static_cast<std::size_t>(level);
    const mesh::Geometry& geometry = hierarchy_.geometry(level);
    crossing = std::min(
        crossing, steps_of_level * solvers::longest_drift(geometry, largest_momentum_[l], config_.run.particle_cfl));
    if (finest_level() > 0) {
      const double cells = solvers::longest_drift(geometry, pull * largest_of(gravity_.acceleration(level)), 1.0);
      fall = std::min(fall, steps_of_level * std::sqrt(2.0 * largest_fall * cells));
    }
    steps_of_level *= amr::substeps(config_.amr.time_levels());
  }
  std::vector<StepLimit> limits{{comm_.min(crossing), "particles"}};
  if (finest_level() > 0) limits.push_back({comm_.min(fall), "acceleration"});
  if (gas_) limits.push_back({gas_step_ ? comm_.min(*gas_step_) : gas_->largest_step(), "gas"});
  return limits;
}

double Universe::advance(double a0, double a1, bool adapts) {
  step_ = {a0, a1, solvers::leapfrog_step(background_, a0, a1).drift};
  parts_.resize(density_.size());
  gas_step_.reset();
  if (gas_) gas_->begin_step();
  amr::subcycle(
      {}, finest_level(), config_.amr.time_levels(), [&](const amr::LevelStep& part) { advance_level(part); },
      [&](int level) { synchronize(level); });
  ++steps_;
  const bool is_changed = adapts && adapt(a1);
  if (is_changed) gas_step_.reset();
  if (finest_level() > 0 || is_changed) solve_gravity();
  return step_.dtau;
}

// On a mesh of one level the gravity of the level is that of all matter, and what the last kick leaves is the state
// from which the next step is chosen.
void Universe::advance_level(const amr::LevelStep& part) {
  parts_[static_cast<std::size_t>(part.level)] = part;
  const solvers::LeapfrogStep step = leapfrog_of(part);
  if (gas_) core::timed(bill_, "hydro", [&] { gas_->begin_with_half(part.level); });
  kick(part.level, step.first_kick, step.drift, nullptr);
  advance_gas(part, step);
  migrate_particles(part.level);
  if (finest_level() == 0)
    solve_gravity();
  else
    solve_level(part);
  if (finest_level() > 0 || !gas_) return kick(part.level, step.second_kick, 0.0, nullptr);
  solvers::FastestWave wave = gas_->fastest_wave(part.level);
  kick(part.level, step.second_kick, 0.0, &wave);
  gas_step_ = wave.largest_step();
}

solvers::LeapfrogStep Universe::leapfrog_of(const amr::LevelStep& part) const {
  const auto scale_factor_at = [&](double place) {
    return place == 0.0   ? step_.a0
           : place == 1.0 ? step_.a1
                          : background_.scale_factor_after(step_.a0, place * step_.dtau);
  };
  solvers::LeapfrogStep step =
      solvers::leapfrog_step(background_, scale_factor_at(part.begin), scale_factor_at(part.end));
  step.drift = (part.end - part.begin) * step_.dtau;
  return step;
}

// What two levels share where they meet in time: fluxes, averages, and the particles that have changed sides. These
// need the forces on clouds of their new level; where the coarser level meets them as well, it sees to it.
void Universe::synchronize(int level) {
  if (gas_) core::timed(bill_, "hydro", [&] { gas_->synchronize(level); });
  core::timed(bill_, "migration",
              [&] { redistribute::migrate_levels(comm_, hierarchy_, particles_, level, solvers::cloud_margin); });
  // With equal steps, how far a particle may go depends on its level.
  for (std::size_t l = 0; level == 0 && config_.amr.time_levels() == amr::TimeLevels::equal && l < particles_.size();
       ++l)
    largest_momentum_[l] = solvers::largest_momentum(particles_[l]);
  const amr::LevelStep& part = parts_[static_cast<std::size_t>(level)];
  if (level > 0 && coarse_weight_after(part) < 1.0) solve_from(part);
}

// Particles then drift, while each is at hand.
void Universe::kick(int level, double factor, double drift, solvers::FastestWave* wave) {
  const auto l = static_cast<std::size_t>(level);
  if (gas_) core::timed(bill_, "hydro", [&] { gravity_.kick(level, factor, gas_->state(level), wave); });
  core::timed(bill_, "particles", [&] {
    largest_momentum_[l] = particle_mesh_.kick(level, gravity_.acceleration(level), factor, particles_[l], drift);
  });
}

// The expansion of a gas with gamma other than 5/3 is taken in two halves around the step.
void Universe::advance_gas(const amr::LevelStep& part, const solvers::LeapfrogStep& step) {
  if (!gas_) return;
  const double gamma = config_.hydro.gamma, expansion = core::pow(step.a1 / step.a0, 0.5 * (5.0 - 3.0 * gamma));
  const auto expand = [&] {
    if (gamma != 5.0 / 3.0) gas_->expand(part.level, expansion);
  };
  if (heating_)
    core::timed(bill_, "heating", [&] {
      heating_->begin(part.level, background_.scale_factor_after(step.a0, 0.5 * step.drift), step.drift);
    });
  gas_->set_epoch({config_.temperature_floor / config_.temperature_factor(step.a1), 1.0 / (step.a1 * step.a1),
                   heating_ ? &*heating_ : nullptr});
  core::timed(bill_, "hydro", expand);
  core::timed(bill_, "ghost exchange",
              [&] { gas_->fill_ghosts(part.level, part.begin * step_.dtau, part.coarse_weight); });
  core::timed(bill_, "hydro", [&] {
    gas_->advance(part.level, step.drift);
    expand();
  });
}

void Universe::migrate_particles(int level) {
  auto& particles = particles_[static_cast<std::size_t>(level)];
  particle_updates_ += static_cast<std::int64_t>(particles.size());
  core::timed(bill_, "migration", [&] {
    redistribute::migrate(comm_, hierarchy_.layout(level), hierarchy_.geometry(level), particles);
    if (steps_ % steps_between_sorts == 0) particle_mesh_.sort(level, particles);
  });
}

// How far the end of a level's step is from the coarser level's older to its newer state.
double Universe::coarse_weight_after(const amr::LevelStep& part) const {
  return part.coarse_weight + 1.0 / amr::substeps(config_.amr.time_levels());
}

// The matter of the level and all finer ones at the end of its step: the particles of finer levels, if they have not
// moved yet, are taken `finer_ahead`, those of the coarser one, which have gone further, back.
void Universe::deposit_from(const amr::LevelStep& part, double finer_ahead) {
  const auto l = static_cast<std::size_t>(part.level);
  std::vector<double> ahead(particles_.size(), finer_ahead);
  ahead[l] = 0.0;
  if (l > 0) {
    const double steps = (coarse_weight_after(part) - 1.0) * amr::substeps(config_.amr.time_levels());
    ahead[l - 1] = steps * (part.end - part.begin) * step_.dtau;
  }
  particle_mesh_.deposit(particles_, ahead, density_, part.level);
}

void Universe::solve_level(const amr::LevelStep& part) {
  core::timed(bill_, "particles", [&] {
    deposit_from(part, (part.end - part.begin) * step_.dtau);
    if (gas_) gas_->add_density_ahead(part.level, density_);
  });
  core::timed(bill_, "gravity", [&] { gravity_.solve_level(part.level, density_, coarse_weight_after(part)); });
}

// The level of `part` and all finer ones, which have come to the end of it.
void Universe::solve_from(const amr::LevelStep& part) {
  core::timed(bill_, "particles", [&] {
    deposit_from(part, 0.0);
    for (int level = part.level; gas_ && level <= finest_level(); ++level)
      gas_->add_density(level, density_[static_cast<std::size_t>(level)]);
  });
  core::timed(bill_, "gravity", [&] { gravity_.solve_from(part.level, density_, coarse_weight_after(part)); });
}

void Universe::solve_gravity() {
  core::timed(bill_, "particles", [&] {
    particle_mesh_.deposit(particles_, std::vector<double>(particles_.size(), 0.0), density_);
    for (int level = 0; gas_ && level <= finest_level(); ++level)
      gas_->add_density(level, density_[static_cast<std::size_t>(level)]);
  });
  core::timed(bill_, "gravity", [&] { gravity_.solve(density_); });
}

solvers::HeatingBooks Universe::take_heating_books() {
  return heating_ ? heating_->take_books() : solvers::HeatingBooks{};
}

std::string Universe::problem(double a) const {
  std::string found;
  for (int level = 0; level <= finest_level() && gas_ && found.empty(); ++level)
    found = problem_of_gas(gas(level), level);
  for (int level = 0; level <= finest_level() && found.empty(); ++level)
    found = problem_of_particles(particles(level), a);
  return found;
}

std::vector<Field<double>> Universe::dark_matter_density() {
  std::vector<Field<double>> density;
  for (int level = 0; level <= finest_level(); ++level) density.emplace_back(hierarchy_.layout(level), comm_.rank());
  particle_mesh_.deposit(particles_, std::vector<double>(particles_.size(), 0.0), density);
  return density;
}

double Universe::gas_mass() const {
  core::ExactSum mass;
  for (int level = 0; level <= finest_level(); ++level) {
    const double volume = hierarchy_.geometry(level).cell_volume();
    const auto own = hierarchy_.layout(level).boxes_of(comm_.rank());
    for (int b = 0; b < gas(level).blocks(); ++b) {
      if (!hierarchy_.is_leaf(level, own[static_cast<std::size_t>(b)])) continue;
      const auto state = gas(level).view(b);
      core::for_each_cell(gas(level).box(b),
                          [&](int k, int j, int i) { mass.add(volume * state(solvers::density, k, j, i)); });
    }
  }
  return comm_.sum(mass);
}

}  // namespace sidestream::sims
