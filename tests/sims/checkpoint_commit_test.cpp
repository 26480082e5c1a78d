#include <nlohmann/json.hpp>
// Checkpoints are written without waiting for analyses, and count once the results of before are there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "couple/fake_analyses.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/generations.hpp"
#include "sidestream/io/pending.hpp"
#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::sims {
namespace {

using testing::HasSubstr;

constexpr int steps = 12;

class CheckpointCommit : public testing::TestWithParam<bool> {
 protected:
  // A blast with a checkpoint of each step.
  RunConfig without_tasks(int max_steps) const {
    const std::string text =
        "simulation = \"sedov\"\n[mesh]\ncells = [16, 16, 1]\nblock = 8\n[sedov]\nend = 10\n[run]\nmax_steps = " +
        std::to_string(max_steps) +
        "\n[output]\ncheckpoint = { every = 1, keep = 2, asynchronous = " + (GetParam() ? "true" : "false") + " }\n";
    return read_run(core::parse_toml(text, "run.toml"));
  }
  // With an analysis of each step on a sidecar.
  RunConfig config(int max_steps, test::Told::Action action) const {
    RunConfig config = without_tasks(max_steps);
    config.coupling.sidecars = 1;
    const auto told = std::make_shared<test::Told>(std::move(action), std::vector<std::string>{"gas_density"});
    config.coupling.tasks.push_back(
        {"slow", "fake", told, &couple::transports().named("in-transit"), couple::Trigger({.every = 1}), ""});
    return config;
  }
  void run(RunConfig config, const RunStart& start = {}) {
    sims::run(world, std::move(config), folder / "run", start, {});
    world.barrier();
  }
  std::vector<nlohmann::json> events(const std::string& kind) const { return test::events(folder / "run", kind); }
  std::int64_t newest() const { return io::generations_in(folder / "run").front().step; }
  // Of a run under way: the last line may be torn.
  std::int64_t last_step() const {
    std::int64_t last = -1;
    std::ifstream lines((folder / "run") + "/events.jsonl");
    for (std::string line; std::getline(lines, line);)
      if (const auto event = nlohmann::json::parse(line, nullptr, false); !event.is_discarded())
        if (event.at("event") == "step") last = event.at("step");
    return last;
  }
  template <typename Condition>
  static bool waited_for(Condition condition) {
    for (int wait = 0; wait < 6000 && !condition(); ++wait) usleep(10000);
    return condition();
  }
  bool has_result(std::int64_t step) const {
    return std::filesystem::exists(io::RunFolder(folder / "run").result("slow", step));
  }

  comm::Communicator world{MPI_COMM_WORLD};
  test::SharedFolder folder{world};
};

// The analysis of step s ends when the simulation has come to step 3 (s + 1), which it would never do if it waited for
// its checkpoints; and the simulation is held back so that it is three times as fast and no faster.
TEST_P(CheckpointCommit, AdvancesThoughAnAnalysisTakesThreeTimesAsLongAsTheInterval) {
  if (world.size() == 1) return;
  std::vector<std::int64_t> missing;  // results of before a committed checkpoint
  const auto slow = [&](const comm::Communicator&, const mesh::Snapshot& snapshot) {
    EXPECT_TRUE(
        waited_for([&] { return last_step() >= std::min<std::int64_t>(3 * (snapshot.moment.step + 1), steps); }));
    const auto found = io::generations_in(folder / "run");
    for (std::int64_t step = 0; !found.empty() && step <= found.front().step; ++step)
      if (!has_result(step)) missing.push_back(step);
  };

  const auto pace = [&](const comm::Communicator&, const mesh::Snapshot& snapshot) {
    EXPECT_TRUE(waited_for([&] { return snapshot.moment.step < 3 || has_result(snapshot.moment.step / 3 - 1); }));
  };
  RunConfig paced = config(steps, slow);
  paced.coupling.tasks.push_back({"pace", "fake",
                                  std::make_shared<test::Told>(pace, std::vector<std::string>{"gas_density"}),
                                  &couple::transports().named("in-situ"), couple::Trigger({.every = 1}), ""});

  run(std::move(paced));

  EXPECT_TRUE(missing.empty());
  for (std::int64_t step = 0; step <= steps; ++step) EXPECT_TRUE(has_result(step)) << step;
  EXPECT_EQ(newest(), steps);
  EXPECT_FALSE(std::filesystem::exists((folder / "run") + "/pending"));
  const auto done = events("checkpoint_committed");
  EXPECT_EQ(done.size(), events("checkpoint").size());
  EXPECT_GE(done.size(), 3u);
  EXPECT_EQ(done.front().at("step"), 1);
  EXPECT_LT(done.front().at("t"), events("step").back().at("t"));
  std::int64_t put_off = 0;
  for (const auto& event : done) put_off += event.at("put_off").get<std::int64_t>();
  EXPECT_EQ(put_off, std::ssize(events("checkpoint_put_off")));
  EXPECT_GE(put_off, 3);
}

TEST_P(CheckpointCommit, DoesNotComeBeforeTheResultsOfBefore) {
  if (world.size() == 1) return;
  const std::string first = (folder / "run") + "/chk00001.hdf5_chk";
  const auto looks = [&](const comm::Communicator&, const mesh::Snapshot& snapshot) {
    if (snapshot.moment.step != 1) return;
    EXPECT_TRUE(waited_for([&] { return last_step() >= 3 && std::filesystem::exists(io::pending_path(first)); }));
    EXPECT_TRUE(io::generations_in(folder / "run").empty());
  };

  run(config(4, looks));

  EXPECT_EQ(events("checkpoint_committed").front().at("step"), 1);
  EXPECT_EQ(newest(), 4);
}

TEST_P(CheckpointCommit, WhatWasLeftPendingIsPassedOverAndGoesWithARestart) {
  run(without_tasks(2));
  const std::string one = (folder / "run") + "/chk00001.hdf5_chk", two = (folder / "run") + "/chk00002.hdf5_chk";
  if (world.rank() == 0) {
    std::filesystem::create_directory((folder / "run") + "/pending");
    for (const std::string& path : {one, two}) std::filesystem::rename(path, io::pending_path(path));
  }
  world.barrier();

  try {
    run(without_tasks(3), {io::ExistingRun::resume});
    ADD_FAILURE() << "the run went on from a checkpoint that was never committed";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("`pending`"));
  }
  world.barrier();
  EXPECT_TRUE(std::filesystem::exists(io::pending_path(two)));
  world.barrier();
  if (world.rank() == 0) std::filesystem::rename(io::pending_path(one), one);
  world.barrier();

  run(without_tasks(3), {io::ExistingRun::resume});

  EXPECT_THAT(events("restart").back().at("path").get<std::string>(), HasSubstr("chk00001"));
  EXPECT_EQ(newest(), 3);
  EXPECT_FALSE(std::filesystem::exists((folder / "run") + "/pending"));
}

INSTANTIATE_TEST_SUITE_P(Writing, CheckpointCommit, testing::Bool(),
                         [](const auto& writing) { return writing.param ? "behind" : "atOnce"; });

}  // namespace
}  // namespace sidestream::sims
