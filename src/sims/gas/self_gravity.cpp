#include "sims/gas/self_gravity.hpp"

#include "sidestream/solvers/hydro.hpp"

namespace sidestream::sims {

using mesh::Field;

SelfGravity::SelfGravity(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy,
                         const solvers::GravityConfig& config, bool may_be_refined,
                         const std::shared_ptr<core::Workroom>& room)
    : comm_(comm), hierarchy_(hierarchy) {
  if (may_be_refined)
    refined_.emplace(comm, hierarchy);
  else
    uniform_.emplace(comm, hierarchy.layout(0), hierarchy.geometry(0), config, room);
  for (int level = 0; refined_ && level <= hierarchy.finest_level(); ++level)
    acceleration_.push_back(new_acceleration(level));
  older_.resize(acceleration_.size());
}

void SelfGravity::move_to(const mesh::Hierarchy& hierarchy) {
  hierarchy_ = hierarchy;
  refined_ = solvers::RefinedGravity(comm_, hierarchy, std::move(*refined_));
  acceleration_.clear();
  for (int level = 0; level <= hierarchy.finest_level(); ++level) acceleration_.push_back(new_acceleration(level));
  older_.clear();
  older_.resize(acceleration_.size());
}

Field<double> SelfGravity::new_acceleration(int level) const {
  return {hierarchy_.layout(level), comm_.rank(), 3, 2};
}

void SelfGravity::solve(std::span<const Field<double>> density) {
  if (uniform_)
    uniform_->solve_potential(density.front());
  else
    solve_from(0, density, 1.0);
}

void SelfGravity::solve_from(int level, std::span<const Field<double>> density, double coarse_weight) {
  refined_->solve_from(level, density, coarse_weight);
  for (int each = level; each <= hierarchy_.finest_level(); ++each) {
    const bool is_between = each == level && coarse_weight < 1.0;
    accelerate(each, density, is_between ? coarse_weight : 1.0);
  }
}

// Pulls a level as if it were the finest, within the values around it at `coarse_weight`.
void SelfGravity::accelerate(int level, std::span<const Field<double>> density, double coarse_weight) {
  const auto l = static_cast<std::size_t>(level);
  solvers::RefinedGravity::Coarse coarse;
  if (level > 0) coarse = {coarse_weight < 1.0 ? &older_[l - 1] : &acceleration_[l - 1], &acceleration_[l - 1]};
  if (level == hierarchy_.finest_level())
    refined_->acceleration(level, acceleration_[l], coarse.older, coarse.newer, coarse_weight);
  else
    refined_->acceleration_as_finest(level, density[l], coarse_weight, acceleration_[l], coarse);
}

void SelfGravity::solve_level(int level, std::span<const Field<double>> density, double coarse_weight) {
  const auto l = static_cast<std::size_t>(level);
  if (level == hierarchy_.finest_level()) {
    refined_->solve_level(level, density[l], coarse_weight);
  } else {
    refined_->keep(level);
    older_[l] = std::move(acceleration_[l]);
    acceleration_[l] = new_acceleration(level);
    refined_->solve_ahead(level, density, coarse_weight);
  }
  accelerate(level, density, coarse_weight);
}

const Field<double>& SelfGravity::acceleration(int level) const {
  return uniform_ ? uniform_->potential() : acceleration_[static_cast<std::size_t>(level)];
}

void SelfGravity::kick(int level, double factor, Field<double>& gas, solvers::FastestWave* wave) const {
  if (uniform_)
    solvers::kick_by_potential(gas, uniform_->potential(), hierarchy_.geometry(0), factor, wave);
  else
    solvers::kick(gas, acceleration(level), factor, wave);
}

const Field<double>& SelfGravity::potential(int level) const {
  return uniform_ ? uniform_->potential() : refined_->potential(level);
}

}  // namespace sidestream::sims
