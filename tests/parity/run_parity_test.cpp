// The promise: a configuration gives the same fields and results, to the bit, on any number of ranks, over any
// transport, and through a restart.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "parity/parity_runs.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream {
namespace {

const std::string configuration = R"(
simulation = "cosmology"
[run]
max_steps = 8
[mesh]
cells = [32, 32, 32]
block = 16
[cosmology]
box = "64 Mpc"
z_start = 14
z_end = 0.5
seed = 3
[heating]
uv_background = "onorbe17_middle"
self_shielding = true
[task.halos]
analysis = "halos"
every = 2
t_boundary = "1.1 mean"
t_halo = "1.2 mean"
kinematics = true
[task.spectra]
analysis = "power_spectrum"
every = 2
[task.pdf]
analysis = "pdf"
every = 4
[task.phase]
analysis = "phase"
every = 4
[task.projection]
analysis = "projection"
every = 8
[task.slice]
analysis = "slice"
every = 8
[task.display]
analysis = "display"
quantity = "gas_density"
axis = "y"
scale = "log"
whole = true
every = 2
[task.flux]
analysis = "flux"
every = 4
mean_flux = "0.5"
[task.skewers]
analysis = "flux_skewers"
every = 8
number = 9
[output]
checkpoint = { format = "sidestream", every = 4, keep = 0 }
)";

constexpr std::array tasks{"halos", "spectra", "pdf", "phase", "projection", "slice", "display", "flux", "skewers"};

class Parity : public test::ParityRuns<testing::Test> {
 protected:
  Parity() : ParityRuns(configuration) {}

  // The run of one rank with all tasks in situ, which every other has to equal.
  std::string reference(int steps = 8) {
    return kept->folder_of(std::to_string(steps) + "-steps",
                           [&](const std::string& path) { run_on(1, path, {steps_of(steps)}); });
  }
  static std::string steps_of(int steps) { return "run.max_steps=" + std::to_string(steps); }

  void expect_equal(const std::string& path, const std::string& other) override { expect_equal(path, other, 8); }
  void expect_equal(const std::string& path, const std::string& other, int steps) {
    if (world.rank() == 0) {
      expect_equal_results(path, other, 40);
      const std::string checkpoint = fmt::format("/chk{:05d}.hdf5_chk", steps);
      const auto state = test::state_bytes(path + checkpoint);
      EXPECT_EQ(state.size(), 6u * 8u + 23u + 7u);  // fields and blocks, attributes, columns of particles
      EXPECT_TRUE(state == test::state_bytes(other + checkpoint));
    }
    world.barrier();
  }
};

TEST_F(Parity, AllRanksInSituEqualOneRank) {
  expect_all_ranks_in_situ_equal(reference());
}

TEST_F(Parity, InTransitOnAnyNumberOfSidecarsEqualsInSitu) {
  expect_any_number_of_sidecars_equals(reference(), tasks);
}

TEST_F(Parity, ARestartOnAnotherNumberOfRanksEqualsTheRunThatWasNotInterrupted) {
  const std::string one = reference();
  const std::string path = folder / "restarted";
  run_on(1, path, {steps_of(5)});

  run(world, path, {}, io::ExistingRun::resume);

  expect_equal(one, path);
}

TEST_F(Parity, AFullQueueAnsweredInSituChangesNothing) {
  if (world.size() == 1) return;
  const std::string one = reference();
  std::vector<std::string> overrides{"coupling.sidecars=1", "coupling.when_full=in-situ", "coupling.queue=3 MiB"};
  for (const std::string task : tasks)
    if (task != "display")  // whose limits are those of before: it cannot change sides
      overrides.push_back("task." + task + ".transport=in-transit");

  run(world, folder / "small-queue", overrides);

  expect_equal(one, folder / "small-queue");
}

TEST_F(Parity, ByWhateverStrategyCellsTravelTheyAreTheSame) {
  if (world.size() != 3) return;  // seven runs; tests/redistribute has every number of ranks
  constexpr int steps = 4;
  const std::string one = reference(steps);

  for (const std::string& strategy : redistribute::strategies().names()) {
    if (strategy == "automatic") continue;  // the tests above
    run(world, folder / strategy, {steps_of(steps), "run.exchange=" + strategy, "run.wisdom=none"});

    expect_equal(one, folder / strategy, steps);
  }
}

}  // namespace
}  // namespace sidestream
