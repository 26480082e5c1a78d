// The same promise on a refined mesh: ranks, transports and restarts change no bit of a run that refines and coarsens
// as it goes.

#include <gtest/gtest.h>

#include <set>

#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream {
namespace {

const std::string configuration = R"(
simulation = "sedov"
[run]
max_steps = 8
[mesh]
cells = [16, 16, 16]
block = 8
[amr]
max_level = 2
regrid_every = 1
[refine.blast]
criterion = "loehner"
fields = ["gas_density", "pressure"]
[sedov]
end = 0.05
radius = 13
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

constexpr std::array tasks{"slice", "projection", "pdf", "spectrum"};
const std::string last_checkpoint = "/chk00008";

void run(const comm::Communicator& ranks, const std::string& folder, const std::vector<std::string>& overrides = {},
         io::ExistingRun existing = io::ExistingRun::refuse) {
  core::Node root = core::parse_toml(configuration, "parity.toml");
  for (const std::string& assignment : overrides) core::override_key(root, assignment);
  sims::run(ranks, sims::read_run(root), folder, existing, {});
}

class RefinedParity : public testing::Test {
 protected:
  void run_on(int ranks, const std::string& path, const std::vector<std::string>& overrides = {},
              io::ExistingRun existing = io::ExistingRun::refuse) {
    const comm::Communicator some = world.split(world.rank() < ranks ? 0 : -1);
    if (!some.is_empty()) run(some, path, overrides, existing);
    world.barrier();
  }

  // The run of one rank with all tasks in situ, which every other has to equal.
  std::string reference() {
    run_on(1, folder / "one-rank");
    return folder / "one-rank";
  }

  void expect_equal(const std::string& path, const std::string& other) {
    if (world.rank() == 0) {
      const auto expected = test::result_bytes(path), found = test::result_bytes(other);
      EXPECT_GT(expected.size(), 30u);
      EXPECT_EQ(expected.size(), found.size());
      for (const auto& [name, bytes] : expected) EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name;
      const comm::Communicator self(MPI_COMM_SELF);
      const auto state = test::checkpoint_bytes(self, path + last_checkpoint);
      EXPECT_GT(state.size(), 8u + 64u);
      EXPECT_TRUE(state == test::checkpoint_bytes(self, other + last_checkpoint));
    }
    world.barrier();
  }

  comm::Communicator world{MPI_COMM_WORLD};
  test::SharedFolder folder{world};
};

TEST_F(RefinedParity, TheMeshOfTheRunChanges) {
  const std::string one = reference();

  std::set<std::string> meshes;
  for (const auto& event : test::events(one, "step")) meshes.insert(event.at("blocks").dump());
  EXPECT_GT(meshes.size(), 2u);
}

TEST_F(RefinedParity, AllRanksInSituEqualOneRank) {
  const std::string one = reference();

  run(world, folder / "in-situ");

  expect_equal(one, folder / "in-situ");
}

TEST_F(RefinedParity, InTransitOnAnyNumberOfSidecarsEqualsInSitu) {
  const std::string one = reference();
  for (int sidecars = 1; sidecars < world.size(); ++sidecars) {
    const std::string name = "in-transit-" + std::to_string(sidecars);
    std::vector<std::string> overrides{"coupling.sidecars=" + std::to_string(sidecars)};
    for (const char* task : tasks) overrides.push_back(std::string("task.") + task + ".transport=in-transit");

    run(world, folder / name, overrides);

    expect_equal(one, folder / name);
  }
}

TEST_F(RefinedParity, ARestartOnAnotherNumberOfRanksEqualsTheRunThatWasNotInterrupted) {
  const std::string one = reference();
  const std::string more = folder / "on-more", fewer = folder / "on-fewer";
  run_on(1, more, {"run.max_steps=5"});
  run_on(world.size(), fewer, {"run.max_steps=5"});

  run_on(world.size(), more, {}, io::ExistingRun::resume);
  run_on(std::max(1, world.size() - 1), fewer, {}, io::ExistingRun::resume);

  expect_equal(one, more);
  expect_equal(one, fewer);
}

}  // namespace
}  // namespace sidestream
