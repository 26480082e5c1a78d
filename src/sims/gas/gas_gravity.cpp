#include "sims/gas/gas_gravity.hpp"

#include <algorithm>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::sims {

using mesh::Field;

GasGravity::GasGravity(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, double four_pi_g)
    : comm_(comm), four_pi_g_(four_pi_g), gravity_(comm, hierarchy, {}, true) {
  allocate(hierarchy);
}

void GasGravity::allocate(const mesh::Hierarchy& hierarchy) {
  density_.clear();
  zero_.clear();
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    density_.emplace_back(hierarchy.layout(level), comm_.rank());
    zero_.emplace_back(hierarchy.layout(level), comm_.rank());
  }
}

void GasGravity::move_to(const mesh::Hierarchy& hierarchy) {
  gravity_.move_to(hierarchy);
  allocate(hierarchy);
}

void GasGravity::solve(const solvers::RefinedGas& gas) {
  for (int level = 0; level <= gas.finest_level(); ++level) {
    Field<double>& density = density_[static_cast<std::size_t>(level)];
    std::ranges::fill(density.all(), 0.0);
    gas.add_density(level, density);
  }
  gravity_.start_from(zero_);
  gravity_.solve(density_);
}

void GasGravity::solve_level(const solvers::RefinedGas& gas, const amr::LevelStep& step) {
  if (gas.finest_level() == 0) return solve(gas);
  for (auto l = static_cast<std::size_t>(step.level); l < density_.size(); ++l)
    std::ranges::fill(density_[l].all(), 0.0);
  gas.add_density_ahead(step.level, density_);
  const double coarse_weight = step.coarse_weight + 1.0 / amr::substeps(gas.time_levels());
  gravity_.solve_level(step.level, density_, coarse_weight);
}

void GasGravity::kick(solvers::RefinedGas& gas, int level, double dt) const {
  gravity_.kick(level, four_pi_g_ * dt, gas.state(level));
}

double GasGravity::energy(const solvers::RefinedGas& gas) const {
  core::ExactSum sum;
  const mesh::Hierarchy& hierarchy = gas.hierarchy();
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const double volume = hierarchy.geometry(level).cell_volume();
    const auto own = hierarchy.layout(level).boxes_of(comm_.rank());
    for (int b = 0; b < gas.state(level).blocks(); ++b) {
      if (!hierarchy.is_leaf(level, own[static_cast<std::size_t>(b)])) continue;
      const auto state = gas.state(level).view(b);
      const auto psi = gravity_.potential(level).view(b);
      core::for_each_cell(gas.state(level).box(b), [&](int k, int j, int i) {
        sum.add(volume * state(solvers::density, k, j, i) * psi(k, j, i));
      });
    }
  }
  return 0.5 * four_pi_g_ * comm_.sum(sum);
}

}  // namespace sidestream::sims
