#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sidestream/couple/stored.hpp"
#include "sidestream/io/generations.hpp"
#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::test {

using Simulations = core::Registry<sims::SimulationEntry>;

/// The one simulation of another program, without options.
template <typename Plan>
Simulations only_simulation(const std::string& name) {
  return Simulations({"simulations", "simulation", "for this test"},
                     {{name,
                       "of another program",
                       {},
                       [](const core::Node&, core::Node&) { return std::make_unique<Plan>(); },
                       [] { return std::map<std::string, std::vector<core::Option>>(); },
                       [] { return Plan().quantities(); }}});
}

inline sims::RunConfig configuration_of(const Simulations& known, const std::string& rest) {
  return sims::read_run(core::parse_toml("simulation = \"" + known.front().name + "\"\n" + rest, "run.toml"), true,
                        known);
}

/// Runs of such a simulation in a folder that all ranks share.
class ProgramRuns : public testing::Test {
 protected:
  explicit ProgramRuns(const Simulations& known) : known_(known) {}

  /// On the first `ranks` ranks; 0: on all of them.
  void run(const std::string& rest, const std::string& name, const sims::RunStart& start = {}, int ranks = 0) const {
    const comm::Communicator some = world.split(ranks == 0 || world.rank() < ranks ? 0 : -1);
    if (!some.is_empty()) sims::run(some, configuration_of(known_, rest), folder / name, start, {});
    world.barrier();
  }

  /// What the newest checkpoint of a run holds.
  std::map<std::string, std::string> state(const std::string& name) const {
    return state_bytes(io::generations_in(folder / name).front().path);
  }

  /// Runs the tasks by every transport, each into a folder of its name, and expects the results of `in-situ`.
  void expect_the_same_by_every_transport(const std::function<std::string(const std::string& transport)>& tasks) const {
    run(tasks("in-situ"), "in-situ");
    const auto expected = result_bytes(folder / "in-situ");
    ASSERT_GT(expected.size(), 10U);

    run(tasks("async"), "async");
    EXPECT_EQ(result_bytes(folder / "async"), expected);
    run(tasks("file"), "file");
    core::Bill bill;
    couple::analyze_stored(world, configuration_of(known_, tasks("file")).coupling, io::RunFolder(folder / "file"),
                           bill, [](const std::string&) {});
    world.barrier();
    EXPECT_EQ(result_bytes(folder / "file"), expected);
    if (world.size() > 1) {
      run("[coupling]\nsidecars = 1\n" + tasks("in-transit"), "in-transit");
      EXPECT_EQ(result_bytes(folder / "in-transit"), expected);
    }
  }

  /// Runs to the end at once as `whole` and in two parts, the first on a rank less, as `parts`; both write checkpoints.
  void run_whole_and_in_parts(const std::string& output, int first_steps, const std::string& whole,
                              const std::string& parts) const {
    run(output, whole);
    run("[run]\nmax_steps = " + std::to_string(first_steps) + "\n" + output, parts, {}, std::max(1, world.size() - 1));
    run(output, parts, {io::ExistingRun::resume});
  }

  comm::Communicator world{MPI_COMM_WORLD};
  SharedFolder folder{world};

 private:
  const Simulations& known_;
};

}  // namespace sidestream::test
