// The same promise on a refined mesh: ranks, transports and restarts change no bit of a run that refines and coarsens
// as it goes.

#include <gtest/gtest.h>

#include <set>

#include "parity/parity_runs.hpp"
#include "support/small_universe.hpp"

namespace sidestream {
namespace {

const std::string tasks_and_output = R"(
[task.slice]
analysis = "slice"
every = 2
[task.projection]
analysis = "projection"
every = 2
[task.pdf]
analysis = "pdf"
every = 2
[task.spectrum]
analysis = "power_spectrum"
every = 2
[output]
checkpoint = { format = "sidestream", every = 2, keep = 0 }
)";

const std::string blast = R"(
simulation = "sedov"
[run]
max_steps = 8
[mesh]
cells = [16, 16, 16]
block = 8
[amr]
max_level = 2
regrid_every = 1
buffer = 2
[refine.blast]
criterion = "loehner"
fields = ["gas_density", "pressure"]
[sedov]
end = 0.05
radius = 13
)" + tasks_and_output;

constexpr std::array tasks{"slice", "projection", "pdf", "spectrum"};
const std::string last_checkpoint = "/chk00008.hdf5_chk";

const std::string universe = "simulation = \"cosmology\"" + test::small_universe + R"(
largest_expansion = 0.2
step_growth = 10
[heating]
uv_background = "onorbe17_middle"
[run]
max_steps = 8
[amr]
max_level = 1
regrid_every = 2
buffer = 0
[refine.matter]
criterion = "threshold"
fields = ["gas_overdensity", "dark_matter_overdensity"]
refine_above = 1.3
coarsen_below = 1.2
level_factor = 1.3
[task.halos]
analysis = "halos"
t_boundary = "1.5 mean"
t_halo = "2 mean"
kinematics = true
every = 2
)" + tasks_and_output;

class RefinedParity : public test::ParityRuns<testing::TestWithParam<std::string>> {
 protected:
  RefinedParity() : ParityRuns(GetParam()) {}

  // The run of one rank with all tasks in situ, which every other has to equal.
  std::string reference() {
    return kept->folder_of(GetParam() == blast ? "blast" : "universe",
                           [&](const std::string& path) { run_on(1, path); });
  }

  void expect_equal(const std::string& path, const std::string& other) override {
    if (world.rank() == 0) {
      expect_equal_results(path, other, 30);
      const auto state = test::state_bytes(path + last_checkpoint);
      EXPECT_GT(state.size(), 8u + 64u);
      EXPECT_TRUE(state == test::state_bytes(other + last_checkpoint));
    }
    world.barrier();
  }
};

TEST_P(RefinedParity, TheMeshOfTheRunChanges) {
  const std::string one = reference();

  std::set<std::string> meshes;
  for (const auto& event : test::events(one, "step")) meshes.insert(event.at("blocks").dump());
  EXPECT_GT(meshes.size(), 2u);
}

TEST_P(RefinedParity, AllRanksInSituEqualOneRank) {
  expect_all_ranks_in_situ_equal(reference());
}

TEST_P(RefinedParity, InTransitOnAnyNumberOfSidecarsEqualsInSitu) {
  expect_any_number_of_sidecars_equals(reference(), tasks);
}

TEST_P(RefinedParity, ARestartOnAnotherNumberOfRanksEqualsTheRunThatWasNotInterrupted) {
  const std::string one = reference();
  const std::string more = folder / "on-more", fewer = folder / "on-fewer";
  run_on(1, more, {"run.max_steps=5"});
  run_on(world.size(), fewer, {"run.max_steps=5"});

  run_on(world.size(), more, {}, io::ExistingRun::resume);
  run_on(std::max(1, world.size() - 1), fewer, {}, io::ExistingRun::resume);

  expect_equal(one, more);
  expect_equal(one, fewer);
}

INSTANTIATE_TEST_SUITE_P(Simulations, RefinedParity, testing::Values(blast, universe),
                         [](const auto& test) { return test.index == 0 ? "sedov" : "cosmology"; });

}  // namespace
}  // namespace sidestream
