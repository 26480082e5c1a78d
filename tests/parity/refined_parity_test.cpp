// The same promise on a refined mesh: ranks, transports and restarts change no bit of a run that refines and coarsens
// as it goes.

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/kept_runs.hpp"
#include "support/run_files.hpp"

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

const std::string universe = R"(
simulation = "cosmology"
[mesh]
cells = [16, 16, 16]
block = 8
[cosmology]
box = "32 Mpc"
z_start = 50
z_end = 0
seed = 3
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

class RefinedParity : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { kept = std::make_unique<test::KeptRuns>(comm::Communicator(MPI_COMM_WORLD)); }
  static void TearDownTestSuite() { kept.reset(); }

  void run(const comm::Communicator& ranks, const std::string& path, const std::vector<std::string>& overrides = {},
           io::ExistingRun existing = io::ExistingRun::refuse) {
    core::Node root = core::parse_toml(GetParam(), "parity.toml");
    for (const std::string& assignment : overrides) core::override_key(root, assignment);
    sims::run(ranks, sims::read_run(root), path, {existing}, {});
  }
  void run_on(int ranks, const std::string& path, const std::vector<std::string>& overrides = {},
              io::ExistingRun existing = io::ExistingRun::refuse) {
    const comm::Communicator some = world.split(world.rank() < ranks ? 0 : -1);
    if (!some.is_empty()) run(some, path, overrides, existing);
    world.barrier();
  }

  // The run of one rank with all tasks in situ, which every other has to equal.
  std::string reference() {
    return kept->folder_of(GetParam() == blast ? "blast" : "universe",
                           [&](const std::string& path) { run_on(1, path); });
  }

  void expect_equal(const std::string& path, const std::string& other) {
    if (world.rank() == 0) {
      const auto expected = test::result_bytes(path), found = test::result_bytes(other);
      EXPECT_GT(expected.size(), 30u);
      EXPECT_EQ(expected.size(), found.size());
      for (const auto& [name, bytes] : expected) EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name;
      const auto state = test::state_bytes(path + last_checkpoint);
      EXPECT_GT(state.size(), 8u + 64u);
      EXPECT_TRUE(state == test::state_bytes(other + last_checkpoint));
    }
    world.barrier();
  }

  static std::unique_ptr<test::KeptRuns> kept;
  comm::Communicator world{MPI_COMM_WORLD};
  test::SharedFolder folder{world};
};

std::unique_ptr<test::KeptRuns> RefinedParity::kept;

TEST_P(RefinedParity, TheMeshOfTheRunChanges) {
  const std::string one = reference();

  std::set<std::string> meshes;
  for (const auto& event : test::events(one, "step")) meshes.insert(event.at("blocks").dump());
  EXPECT_GT(meshes.size(), 2u);
}

TEST_P(RefinedParity, AllRanksInSituEqualOneRank) {
  const std::string one = reference();

  run(world, folder / "in-situ");

  expect_equal(one, folder / "in-situ");
}

TEST_P(RefinedParity, InTransitOnAnyNumberOfSidecarsEqualsInSitu) {
  const std::string one = reference();
  for (int sidecars = 1; sidecars < world.size(); ++sidecars) {
    const std::string name = "in-transit-" + std::to_string(sidecars);
    std::vector<std::string> overrides{"coupling.sidecars=" + std::to_string(sidecars)};
    for (const char* task : tasks) overrides.push_back(std::string("task.") + task + ".transport=in-transit");

    run(world, folder / name, overrides);

    expect_equal(one, folder / name);
  }
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
