#include "sidestream/sims/run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "sidestream/comm/progress.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/core/error.hpp"
#include "sims/run_in_folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::sims {
namespace {

using testing::HasSubstr;

class RunTest : public test::RunInFolder {
 protected:
  std::string message_of(const std::string& text, const std::string& name, io::ExistingRun existing) {
    try {
      run(text, name, existing);
    } catch (const core::Error& error) {
      return error.message();
    }
    return "no error";
  }
};

const std::string nbody =
    "simulation = \"nbody\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[cosmology]\nbox = \"20 Mpc\"\nz_start = "
    "9\nz_end = 4\n";

TEST_F(RunTest, ARunLandsOnItsMomentsAndItsEnd) {
  run(nbody + "[task.pdf]\nanalysis = \"pdf\"\nat_redshift = [7, 5.5]\n", "a");
  std::vector<double> redshifts;
  for (const auto& event : test::events(folder / "a", "step")) redshifts.push_back(event.at("redshift"));
  EXPECT_THAT(redshifts, testing::Contains(7.0));
  EXPECT_THAT(redshifts, testing::Contains(5.5));
  EXPECT_EQ(redshifts.back(), 4.0);
  EXPECT_TRUE(std::ranges::is_sorted(redshifts, std::greater{}));
  EXPECT_EQ(test::events(folder / "a", "run_end").front().at("status"), "finished");
}

TEST_F(RunTest, AStepThatIsCutSoAsToLandDoesNotHoldBackTheStepsAfterIt) {
  const auto redshifts = [&](const std::string& name) {
    std::vector<double> all;
    for (const auto& event : test::events(folder / name, "step")) all.push_back(event.at("redshift"));
    return all;
  };
  const auto text = [](const std::string& moments) {
    return nbody + "[task.pdf]\nanalysis = \"pdf\"\nat_redshift = " + moments + "\n";
  };
  run(text("[7]"), "one");
  run(text("[7, 6.999999]"), "two");
  const std::vector<double> two = redshifts("two");

  // Beside the step between both, the steps after are another sequence, which may land otherwise.
  EXPECT_LE(two.size(), redshifts("one").size() + 2);

  const auto cut = std::ranges::find(two, 6.999999) - two.begin();
  run(text("[7, 6.999999]") + fmt::format("[run]\nmax_steps = {}\n[output]\ncheckpoint = {{ at_end = true }}\n", cut),
      "cut");
  run(text("[7, 6.999999]"), "cut", io::ExistingRun::resume);
  EXPECT_EQ(redshifts("cut"), two);
}

TEST_F(RunTest, AStepLimitEndsARunWithALastCheckpoint) {
  run(nbody + "[run]\nmax_steps = 3\n[output]\ncheckpoint = { format = \"sidestream\", every = 100 }\n", "a");
  EXPECT_TRUE(std::filesystem::exists((folder / "a") + "/chk00003.hdf5_chk"));
}

TEST_F(RunTest, ASignalEndsARunAfterItsStep) {
  const StopSignals caught;
  std::raise(SIGUSR1);
  EXPECT_EQ(run(nbody, "a"), RunStatus::interrupted);
  EXPECT_EQ(test::events(folder / "a", "run_end").front().at("status"), "interrupted");
}

TEST_F(RunTest, ABatchSystemThatEndsARunAndALimitOfTimeLeaveACheckpointAskedForOrNot) {
  const StopSignals caught;
  std::raise(SIGTERM);
  EXPECT_EQ(run(nbody, "told"), RunStatus::interrupted);
  EXPECT_EQ(run(nbody + "[run]\nwall_time = \"1e-6 s\"\n", "late"), RunStatus::finished);
  std::raise(SIGINT);
  EXPECT_EQ(run(nbody, "interrupted"), RunStatus::interrupted);

  EXPECT_EQ(test::events(folder / "told", "checkpoint").size(), 1u);
  EXPECT_EQ(test::events(folder / "late", "checkpoint").size(), 1u);
  EXPECT_EQ(test::events(folder / "interrupted", "checkpoint").size(), 0u);
}

TEST_F(RunTest, AStepSaysAtEachBlockThatItIsAGoodMomentForTransfers) {
  const auto moments_with_blocks_of = [&](const std::string& text, int block) {
    int moments = 0;
    const comm::Communicator listened = comm::with_progress(world, [&] { ++moments; });
    const std::string mesh = fmt::format("[mesh]\ncells = [32, 32, 32]\nblock = {}\n", block);
    const RunConfig config = read_run(core::parse_toml(text + mesh, "run.toml"));
    core::Bill bill;
    const std::unique_ptr<Simulation> simulation = config.plan->make(listened, {}, bill);
    simulation->initialize();
    moments = 0;
    simulation->advance();
    return moments;
  };
  // Reductions and exchanges are good moments too, but are as many however many blocks there are.
  const std::string box = "simulation = \"cosmology\"\n[cosmology]\nbox = \"20 Mpc\"\nz_start = 50\nz_end = 20\n";
  for (const std::string& text : {std::string("simulation = \"sod\"\n"), box}) {
    const int few = moments_with_blocks_of(text, 16), many = moments_with_blocks_of(text, 8);

    EXPECT_GE(many - few, 64 / world.size() - (8 + world.size() - 1) / world.size()) << text;
  }
}

TEST_F(RunTest, RefusesTheFolderOfAnEarlierRun) {
  const std::string text = "simulation = \"sod\"\n[mesh]\ncells = [16, 8, 8]\nblock = 8\n[run]\nmax_steps = 1\n";
  run(text, "a");
  EXPECT_NE(message_of(text, "a", io::ExistingRun::refuse), "no error");
  EXPECT_EQ(message_of(text, "a", io::ExistingRun::overwrite), "no error");
}

TEST_F(RunTest, ARestartWithoutACheckpointSaysSo) {
  const std::string text = nbody + "[run]\nmax_steps = 1\n";
  run(text, "a");
  EXPECT_THAT(message_of(text, "a", io::ExistingRun::resume), HasSubstr("no good checkpoint"));
}

}  // namespace
}  // namespace sidestream::sims
