#include "sims/cosmology/universe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "sidestream/core/for_each.hpp"
#include "sims/cosmology/initial_universe.hpp"
#include "support/small_universe.hpp"

namespace sidestream::sims {
namespace {

const std::string refined = test::small_universe + R"(
[amr]
max_level = 1
buffer = 0
[refine.matter]
criterion = "threshold"
fields = ["gas_overdensity", "dark_matter_overdensity"]
refine_above = 1.5
coarsen_below = 1.4
level_factor = 1.3
)";

const std::string nested = test::small_universe + R"(
[amr]
max_level = 2
[refine.center]
criterion = "region"
center = [16, 16, 16]
radius = 1.0
max_level = 2
)";

CosmologyConfig read(const std::string& text, bool has_gas = true) {
  core::Node resolved;
  return read_cosmology(core::parse_toml(text, "run.toml"), has_gas, resolved);
}

// A universe that takes steps of equal growth of the scale factor and may change its mesh after each.
class History {
 public:
  History(const comm::Communicator& comm, CosmologyConfig config)
      : config_(std::move(config)),
        background_(config_.parameters),
        universe_(comm, config_, background_, nullptr, initial_universe(comm, config_, background_, a_), bill_) {
    universe_.solve_gravity();
  }

  void advance(int steps) {
    for (int step = 0; step < steps; ++step) {
      const mesh::Forest before = universe_.hierarchy().forest();
      universe_.advance(a_, 1.2 * a_, config_.amr.max_level > 0);
      a_ *= 1.2;
      changes_ += before == universe_.hierarchy().forest() ? 0 : 1;
    }
  }

  Universe& universe() { return universe_; }
  int changes() const { return changes_; }

 private:
  CosmologyConfig config_;
  solvers::Background background_;
  double a_ = 1.0 / 51.0;
  core::Bill bill_;
  Universe universe_;
  int changes_ = 0;
};

class UniverseTest : public testing::Test {
 protected:
  comm::Communicator world{MPI_COMM_WORLD}, self{MPI_COMM_SELF};
};

TEST_F(UniverseTest, KeepsTheMassOfItsGasThroughChangesOfTheMesh) {
  History run(world, read(refined));
  const double mass = run.universe().gas_mass();

  run.advance(12);

  EXPECT_GE(run.changes(), 2);
  EXPECT_EQ(run.universe().finest_level(), 1);
  EXPECT_NEAR(run.universe().gas_mass() / mass, 1.0, 1e-13);
  const solvers::HydroBooks books = run.universe().take_books();
  EXPECT_EQ(books.density_floors + books.energy_floors, 0);
}

TEST_F(UniverseTest, KeepsEachParticleInABlockOfItsLevel) {
  History run(world, read(refined));

  run.advance(11);

  const mesh::Hierarchy& hierarchy = run.universe().hierarchy();
  std::int64_t count = 0, wrong = 0;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const mesh::Particles& particles = run.universe().particles(level);
    count += static_cast<std::int64_t>(particles.size());
    for (std::size_t p = 0; p < particles.size(); ++p) {
      const auto block = hierarchy.layout(level).find(cell_of(
          hierarchy.geometry(level), {particles.position[0][p], particles.position[1][p], particles.position[2][p]}));
      wrong += block < 0 || hierarchy.layout(level).owner(block) != world.rank();
    }
  }
  EXPECT_EQ(world.sum(count), 16 * 16 * 16);
  EXPECT_EQ(wrong, 0);
}

TEST_F(UniverseTest, HasTheBitsOfASingleRank) {
  if (world.size() == 1) return;  // which it is
  for (const auto& [text, steps] : {std::pair(refined, 11), std::pair(nested, 2)}) {
    History alone(self, read(text)), together(world, read(text));

    alone.advance(steps);
    together.advance(steps);

    ASSERT_EQ(alone.universe().hierarchy().forest(), together.universe().hierarchy().forest());
    int differing = 0;
    for (int level = 0; level <= together.universe().finest_level(); ++level) {
      const auto& all = alone.universe().gas(level);
      const auto& part = together.universe().gas(level);
      const auto own = part.layout().boxes_of(world.rank());
      for (int b = 0; b < part.blocks(); ++b)
        for (int c = 0; c < solvers::gas_components; ++c)
          core::for_each_cell(part.box(b), [&](int k, int j, int i) {
            differing += part.view(b)(c, k, j, i) != all.view(own[static_cast<std::size_t>(b)])(c, k, j, i);
          });
      std::map<std::int64_t, double> place;
      const mesh::Particles& of_one = alone.universe().particles(level);
      const mesh::Particles& of_all = together.universe().particles(level);
      for (std::size_t p = 0; p < of_one.size(); ++p) place[of_one.id[p]] = of_one.position[0][p];
      for (std::size_t p = 0; p < of_all.size(); ++p)
        differing += !place.contains(of_all.id[p]) || place[of_all.id[p]] != of_all.position[0][p];
    }
    EXPECT_EQ(differing, 0);
    const Energies one = alone.universe().energies(0.1), all = together.universe().energies(0.1);
    EXPECT_EQ(one.dark_kinetic, all.dark_kinetic);
    EXPECT_EQ(one.gas_kinetic, all.gas_kinetic);
    EXPECT_EQ(one.thermal, all.thermal);
    EXPECT_EQ(one.potential, all.potential);
    EXPECT_GT(one.gas_kinetic, 0.0);
    EXPECT_LT(one.potential, 0.0);
  }
}

TEST_F(UniverseTest, StartsWithFineModesInTheRegionsThatAreRefinedFromTheBeginning) {
  History run(world, read(nested)), coarse(world, read(test::small_universe));
  const mesh::Hierarchy& hierarchy = run.universe().hierarchy();

  ASSERT_EQ(hierarchy.finest_level(), 2);
  double mass = 0.0;
  std::int64_t count = 0;
  for (int level = 0; level <= 2; ++level) {
    const mesh::Particles& particles = run.universe().particles(level);
    for (const double fraction : particles.attribute(solvers::mass_fraction_name)) mass += fraction;
    count += static_cast<std::int64_t>(particles.size());
  }
  core::ExactSum total;
  total.add(mass);
  EXPECT_NEAR(world.sum(total), 16.0 * 16.0 * 16.0, 1e-9);
  EXPECT_GT(world.sum(count), 16 * 16 * 16 + 8 * 8 * 8 * 7);
  EXPECT_NEAR(run.universe().gas_mass() / coarse.universe().gas_mass(), 1.0, 0.02);
}

std::string refined_by(const std::string& field) {
  return test::small_universe +
         "[amr]\nmax_level = 1\nbuffer = 0\n[refine.matter]\ncriterion = \"threshold\"\nfield = \"" + field +
         "\"\nrefine_above = 1.5\ncoarsen_below = 1.4\n"
         "[quantity.dark]\nexpression = \"dark_matter_overdensity\"\n"
         "[quantity.late]\nexpression = \"where(redshift < 20, dark, 0)\"\n";
}

TEST(Universe, RefinesByWhatFollowsFromDarkMatterAndTheRedshift) {
  const comm::Communicator world(MPI_COMM_WORLD);
  History stored(world, read(refined_by("dark_matter_overdensity"))), derived(world, read(refined_by("dark"))),
      late(world, read(refined_by("late")));
  stored.advance(4);
  derived.advance(4);
  late.advance(4);  // to a redshift of 24

  ASSERT_EQ(stored.universe().hierarchy().finest_level(), 1);
  EXPECT_EQ(derived.universe().hierarchy().forest(), stored.universe().hierarchy().forest());
  EXPECT_EQ(late.universe().hierarchy().finest_level(), 0);

  late.advance(2);  // to 16

  EXPECT_EQ(late.universe().hierarchy().finest_level(), 1);
}

}  // namespace
}  // namespace sidestream::sims
