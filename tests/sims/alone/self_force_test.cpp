#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/solvers/momentum.hpp"
#include "sidestream/solvers/refined_particle_mesh.hpp"
#include "sims/gas/self_gravity.hpp"
#include "solvers/refined_mesh.hpp"

namespace sidestream::sims {
namespace {

using mesh::Particles;
using test::cube;
using test::RefinedBox;

using Vector = std::array<double, 3>;

double length_of(const Vector& v) {
  return std::hypot(v[0], v[1], v[2]);
}

// Unit masses, with the deposits, levels and kicks of the simulations. Lengths and forces below are
// in units of a root cell H and of m / (4 pi H^2), the pull of an equal neighbour at one root cell.
class Pull {
 public:
  explicit Pull(const RefinedBox& box)
      : h_(box.cell_size(0)),
        hierarchy_(box.hierarchy(1)),
        particle_mesh_(self_, hierarchy_, 1),
        gravity_(self_, hierarchy_, {}, true) {
    for (int level = 0; level <= hierarchy_.finest_level(); ++level) density_.emplace_back(hierarchy_.layout(level), 0);
  }

  // Makes the field of a mass at `x`.
  void put(const Vector& x) {
    const std::vector<Particles> source = at(x);
    particle_mesh_.deposit(source, std::vector<double>(source.size(), 0.0), density_);
    gravity_.solve(density_);
  }

  // The force of that mass on one at `x`.
  Vector force(const Vector& x) const {
    std::vector<Particles> target = at(x);
    Vector sum{};
    for (std::size_t l = 0; l < target.size(); ++l) {
      const int level = static_cast<int>(l);
      particle_mesh_.kick(level, gravity_.acceleration(level), 4.0 * std::numbers::pi * h_ * h_, target[l]);
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (const double momentum : target[l].attribute(solvers::momentum_names[axis])) sum[axis] += momentum;
    }
    return sum;
  }

 private:
  // One particle, on the level where the simulations keep it.
  std::vector<Particles> at(const Vector& x) const {
    Particles none;
    none.mass = 1.0;
    for (const auto& name : solvers::momentum_names) none.attributes.push_back({name, "km/s", {}});
    std::vector<Particles> levels(density_.size(), none);
    Particles& one = levels.front();
    one.id.push_back(0);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      one.position[axis].push_back(mesh::wrapped_coordinate(x[axis] * h_, 1.0));
      one.attributes[axis].values.push_back(0.0);
    }
    redistribute::migrate_levels(self_, hierarchy_, levels, 0, solvers::cloud_margin);
    return levels;
  }

  comm::Communicator self_{MPI_COMM_SELF};
  double h_;
  mesh::Hierarchy hierarchy_;
  solvers::RefinedParticleMesh particle_mesh_;
  SelfGravity gravity_;
  std::vector<mesh::Field<double>> density_;
};

const RefinedBox two_levels{.cells = 32, .block = 8, .is_periodic = true, .regions = {cube(8, 24)}};
const RefinedBox three_levels{.cells = 32, .block = 8, .is_periodic = true, .regions = {cube(8, 24), cube(24, 40)}};
const RefinedBox one_level{.cells = 32, .block = 8, .is_periodic = true, .regions = {}};

double random(int test, int draw) {
  return core::uniform(11, static_cast<std::uint64_t>(test), static_cast<std::uint64_t>(draw));
}

// The largest force of a particle on itself within `reach` of a place on a side, an edge or a corner, in turn, where
// levels meet: along the other axes it is anywhere within the region.
double largest_self_force(const RefinedBox& box, double corner, double reach, int places) {
  Pull pull(box);
  double worst = 0.0;
  for (int n = 0; n < places; ++n) {
    Vector x;
    for (int axis = 0; axis < 3; ++axis) {
      const bool is_near = axis <= n % 3;
      x[static_cast<std::size_t>(axis)] =
          is_near ? corner + reach * (2.0 * random(n, axis) - 1.0) : 16.0 + 4.0 * (random(n, axis) - 0.5);
    }
    pull.put(x);
    worst = std::max(worst, length_of(pull.force(x)));
  }
  return worst;
}

// A thousandth of the pull of an equal neighbour at one coarse cell, anywhere.
constexpr double self_force_bound = 1e-3;

TEST(SelfForce, AParticleHardlyPullsItselfWhereLevelsMeet) {
  EXPECT_LT(largest_self_force(two_levels, 8.0, 4.0, 60), self_force_bound);
}

TEST(SelfForce, AParticleHardlyPullsItselfWhereThreeLevelsMeet) {
  EXPECT_LT(largest_self_force(three_levels, 12.0, 2.0, 24), 4.0 * self_force_bound);  // cells are half as wide
}

// Root mean square over pairs near a side where levels meet of |force - exact| / exact at a separation in coarse cells.
double error_of_pairs(const RefinedBox& box, double separation) {
  Pull pull(box);
  core::ExactSum sum;
  const int sources = 12, targets = 16;
  for (int n = 0; n < sources; ++n) {
    const Vector source{7.0 + 5.0 * random(n, 6), 14.0 + 4.0 * random(n, 7), 14.0 + 4.0 * random(n, 8)};
    pull.put(source);
    for (int m = 0; m < targets; ++m) {
      const double cosine = 2.0 * random(n, 10 + 2 * m) - 1.0, angle = 2.0 * std::numbers::pi * random(n, 11 + 2 * m);
      const double sine = std::sqrt(1.0 - cosine * cosine);
      const Vector direction{cosine, sine * std::cos(angle), sine * std::sin(angle)};
      Vector target = source;
      for (std::size_t axis = 0; axis < 3; ++axis) target[axis] += separation * direction[axis];
      Vector error = pull.force(target);
      for (std::size_t axis = 0; axis < 3; ++axis) error[axis] += direction[axis] / (separation * separation);
      const double relative = length_of(error) * separation * separation;
      sum.add(relative * relative);
    }
  }
  return std::sqrt(sum.value() / (sources * targets));
}

// Those within the region are pulled by finer cells, those at its side by coarse ones.
TEST(SelfForce, PairsAcrossLevelsPullNoWorseThanOnTheCoarseGrid) {
  for (const double separation : {1.0, 1.5, 2.0})
    EXPECT_LT(error_of_pairs(two_levels, separation), error_of_pairs(one_level, separation)) << separation;
}

}  // namespace
}  // namespace sidestream::sims
