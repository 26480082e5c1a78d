// A state that cannot be advanced ends a run at once, and the error says where it is ill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sidestream/core/error.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/gas/gas_books.hpp"
#include "support/slow_tier.hpp"

namespace sidestream::sims {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const std::string blast =
    "simulation = \"sedov\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[sedov]\nend = 1\n"
    "[amr]\nmax_level = 1\nbuffer = 0\n[refine.all]\ncriterion = \"region\"\nlower = [0.0, 0.0, 0.0]\nupper = [0.1, "
    "0.1, 0.1]\nmax_level = 1\n";
const std::string universe =
    "simulation = \"cosmology\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[cosmology]\nbox = \"8 Mpc\"\n";
// Looks at its gas anew before each step; on one level, the step before has done so.
const std::string refined_universe =
    universe +
    "[amr]\nmax_level = 1\nbuffer = 0\n[refine.all]\ncriterion = \"region\"\nlower = [0.0, 0.0, 0.0]\nupper = [0.1, "
    "0.1, 0.1]\nmax_level = 1\n";

// A simulation after two steps, whose state can be spoilt.
class Soundness : public testing::Test {
 protected:
  void start(const std::string& text) {
    config = read_run(core::parse_toml(text, "run.toml"));
    simulation = config.plan->make(world, {}, bill);
    simulation->initialize();
    simulation->advance();
    simulation->advance();
  }
  // Of the first block of the last rank.
  void spoil_gas(int component, int level, double value) {
    if (world.rank() != world.size() - 1) return;
    const mesh::Snapshot snapshot = simulation->snapshot();
    const auto& gas = snapshot.stored("gas_density").levels.at(static_cast<std::size_t>(level));
    ASSERT_GT(gas.blocks(), 0);
    const mesh::Int3 cell = gas.box(0).lo;
    const_cast<double&>(gas.view(0)(component, cell.z, cell.y, cell.x)) = value;
  }
  std::string advance() {
    try {
      simulation->advance();
    } catch (const core::Error& error) {
      return error.what();
    }
    return "nothing";
  }

  comm::Communicator world{MPI_COMM_WORLD};
  core::Bill bill;
  RunConfig config;
  std::unique_ptr<Simulation> simulation;
};

TEST_F(Soundness, WhateverIsNotFiniteInTheGasIsFoundBeforeTheNextStep) {
  const std::vector<std::string> names{"density",          "momentum along x", "momentum along y",
                                       "momentum along z", "total energy",     "internal energy"};
  for (const std::string& text : {blast, refined_universe})
    for (int component = 0; component < 6; component += test::is_slow_tier() || text == blast ? 1 : 3) {
      const bool is_nan =
          (text == blast) == (component % 2 == 0);  // of each component both, in the one gas or the other
      start(text);
      spoil_gas(component, 0, is_nan ? nan : std::numeric_limits<double>::infinity());

      EXPECT_THAT(advance(), AllOf(HasSubstr("the " + names[static_cast<std::size_t>(component)] + " of the gas is"),
                                   HasSubstr("of level 0"), HasSubstr("step 2"), HasSubstr("hint")))
          << text << component << is_nan;
    }
}

TEST_F(Soundness, WhatAStepLeavesThatIsNotFiniteIsFoundBeforeTheNextOne) {
  for (int component = 0; component < 6; component += test::is_slow_tier() ? 1 : 4) {
    start(universe);
    spoil_gas(component, 0, nan);
    advance();

    EXPECT_THAT(advance(), AllOf(HasSubstr("of the gas is"), HasSubstr("step 3"), HasSubstr("hint"))) << component;
  }
}

TEST(GasBooks, TellOfNumbersThatBecameTooLarge) {
  const comm::Communicator world(MPI_COMM_WORLD);
  GasBooks books;
  solvers::HydroBooks step;
  books.enter(world, step);
  EXPECT_EQ(books.problem(), "");

  if (world.rank() == world.size() - 1) step.floor_energy.add(std::numeric_limits<double>::infinity());
  books.enter(world, step);

  EXPECT_THAT(books.problem(), HasSubstr("the `floor_energy` of the gas is"));
}

TEST_F(Soundness, FinerLevelsAreLookedAtToo) {
  start(blast);
  spoil_gas(0, 1, nan);

  EXPECT_THAT(advance(), HasSubstr("of level 1"));
}

TEST_F(Soundness, AParticleWithoutAVelocityIsFoundInTheStepAfter) {
  start(universe);
  if (world.rank() == 0) {
    const mesh::Snapshot snapshot = simulation->snapshot();
    const_cast<mesh::Particles&>(*snapshot.species(mesh::dark_matter).stored.front()).attribute("momentum_y")[3] = nan;
  }

  EXPECT_THROW(simulation->check_state(), core::Error);
  EXPECT_THAT(advance(), testing::Not("nothing"));
}

TEST_F(Soundness, GasThatIsTooFastForTheTimeToGoOnIsTold) {
  start(refined_universe);
  spoil_gas(1, 0, 1e200);

  EXPECT_THAT(advance(), AllOf(HasSubstr("the time does not go on"), HasSubstr("gas"), HasSubstr("z = ")));
}

}  // namespace
}  // namespace sidestream::sims
