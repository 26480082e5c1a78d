// Also what the thread sanitizer sees of a run: threads that analyse, their results, plot files and checkpoints, all
// due at every step.
#include <gtest/gtest.h>

#include "sims/steered_run.hpp"

namespace sidestream::sims {
namespace {

class ThreadsAndFiles : public testing::TestWithParam<const char*>, public test::SteeredRun {
 protected:
  RunStatus run_with(const std::string& transport) {
    const std::string task = "transport = \"" + transport + "\"\nevery = 1\n";
    return run(
        "simulation = \"sod\"\n[mesh]\ncells = [32, 8, 8]\nblock = 8\n"
        "[task.pdf]\nanalysis = \"pdf\"\n" +
            task + "[task.slice]\nanalysis = \"slice\"\nfields = [\"gas_density\"]\n" + task +
            "[output]\nplotfile = { format = \"sidestream\", every = 1 }\n"
            "checkpoint = { every = 1, keep = 0, asynchronous = " +
            GetParam() + " }\n[run]\nmax_steps = " + std::to_string(steps_) + "\n",
        transport);
  }

  static constexpr int steps_ = 12;
};

TEST_P(ThreadsAndFiles, LeaveWhatARunWithoutThreadsLeaves) {
  EXPECT_EQ(run_with("in-situ"), RunStatus::finished);
  EXPECT_EQ(run_with("async"), RunStatus::finished);

  const auto results = test::result_bytes(folder / "in-situ");
  for (const char* const last : {"pdf/00012.nc", "slice/00012.nc"})
    EXPECT_TRUE(results.lower_bound(last) != results.end() && results.lower_bound(last)->first.starts_with(last));
  EXPECT_TRUE(test::result_bytes(folder / "async") == results);
  const auto committed = events("async", "checkpoint_committed");
  ASSERT_FALSE(committed.empty());
  EXPECT_EQ(committed.back().at("step"), steps_);
  EXPECT_FALSE(bytes("async", "chk00012.hdf5_chk").empty());
  EXPECT_EQ(events("async", "plotfile").size(), steps_ + 1);
}
INSTANTIATE_TEST_SUITE_P(CheckpointsBehindTheRun, ThreadsAndFiles, testing::Values("false", "true"));

}  // namespace
}  // namespace sidestream::sims
