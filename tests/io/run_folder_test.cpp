#include "sidestream/io/run_folder.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "sidestream/core/error.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

class RunFolderTest : public testing::Test {
 protected:
  std::string hint_of_refusal(const std::string& path) const {
    try {
      io::prepare_run_folder(comm_, path, io::ExistingRun::refuse, "x = 1\n");
    } catch (const core::Error& error) {
      return error.hint();
    }
    return "none";
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
};

TEST_F(RunFolderTest, IsMadeWithItsConfiguration) {
  const auto run = io::prepare_run_folder(comm_, folder_ / "runs/demo", io::ExistingRun::refuse, "x = 1\n");
  comm_.barrier();

  EXPECT_EQ(test::content_of(folder_ / "runs/demo/config.toml"), "x = 1\n");
  EXPECT_EQ(run.path(), folder_ / "runs/demo");
}

TEST_F(RunFolderTest, NamesItsFilesAsTheReadersExpect) {
  const io::RunFolder run("demo");

  EXPECT_EQ(run.result("halos", 42), "demo/results/halos/00042.nc");
  EXPECT_EQ(run.events("compute"), "demo/events.jsonl");
  EXPECT_EQ(run.events("sidecar"), "demo/events.sidecar.jsonl");
}

TEST_F(RunFolderTest, FindsTheNewestResultBelowAStep) {
  const io::RunFolder run(folder_ / "run");
  if (comm_.rank() == 0) {
    std::filesystem::create_directories(run.path() + "/results/halos");
    for (const char* name : {"00000.nc", "00012.nc", "99999.nc", "123456.nc", "7.nc", ".00013.nc.tmp", "notes.nc"})
      test::overwrite(run.path() + "/results/halos/" + name, "x");
  }
  comm_.barrier();

  EXPECT_EQ(run.newest_result("halos", 12), 0);
  EXPECT_EQ(run.newest_result("halos", 13), 12);
  EXPECT_EQ(run.newest_result("halos", 200000), 123456);
  EXPECT_EQ(run.newest_result("halos", 0), std::nullopt);
  EXPECT_EQ(run.newest_result("none", 13), std::nullopt);
}

TEST_F(RunFolderTest, AnEarlierRunIsRefusedUnlessToldOtherwise) {
  io::prepare_run_folder(comm_, folder_ / "run", io::ExistingRun::refuse, "first = 1\n");

  EXPECT_NE(hint_of_refusal(folder_ / "run").find("--restart"), std::string::npos);
  comm_.barrier();
  EXPECT_EQ(test::content_of(folder_ / "run/config.toml"), "first = 1\n");
}

TEST_F(RunFolderTest, OverwritingRemovesTheRunAndNothingElse) {
  io::prepare_run_folder(comm_, folder_ / "run", io::ExistingRun::refuse, "first = 1\n");
  if (comm_.rank() == 0) {
    for (const char* name : {"results/halos", "plt00001", "chk00002.hdf5_chk", "plots"})
      std::filesystem::create_directories(folder_ / (std::string("run/") + name));
    for (const char* name : {"events.jsonl", "events.sidecar.jsonl", "mergers.halos.nc", "notes.txt"})
      test::overwrite(folder_ / (std::string("run/") + name), "x");
  }
  comm_.barrier();

  io::prepare_run_folder(comm_, folder_ / "run", io::ExistingRun::overwrite, "second = 1\n");
  comm_.barrier();

  EXPECT_EQ(test::content_of(folder_ / "run/config.toml"), "second = 1\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/plots"));
  EXPECT_EQ(test::entries_of(folder_ / "run"), 4);  // and the lock
}

TEST_F(RunFolderTest, ResumingKeepsEverythingButWhatInterruptedWritesLeft) {
  io::prepare_run_folder(comm_, folder_ / "run", io::ExistingRun::refuse, "first = 1\n");
  if (comm_.rank() == 0) {
    test::overwrite(folder_ / "run/events.jsonl", "{}\n");
    std::filesystem::create_directories(folder_ / "run/.plt00003.tmp/Level_0");
  }
  comm_.barrier();

  io::prepare_run_folder(comm_, folder_ / "run", io::ExistingRun::resume, "first = 1\n");

  EXPECT_EQ(test::content_of(folder_ / "run/events.jsonl"), "{}\n");
  EXPECT_EQ(test::entries_of(folder_ / "run"), 3);  // and the lock
}

TEST_F(RunFolderTest, BelongsToOneJobAsLongAsACopyOfItLives) {
  using enum io::ExistingRun;
  std::optional first(io::prepare_run_folder(comm_, folder_ / "run", refuse, "first = 1\n"));
  std::optional copy(*first);
  first.reset();

  for (const io::ExistingRun existing : {refuse, overwrite, resume}) {
    try {
      io::prepare_run_folder(comm_, folder_ / "run", existing, "second = 1\n");
      ADD_FAILURE();
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find("another run has this folder: process"), std::string::npos);
    }
  }
  EXPECT_THROW(copy->require_no_job(), core::Error);
  EXPECT_EQ(test::content_of(folder_ / "run/config.toml"), "first = 1\n");
  comm_.barrier();

  copy.reset();
  comm_.barrier();
  io::RunFolder(folder_ / "run").require_no_job();
  comm_.barrier();
  io::prepare_run_folder(comm_, folder_ / "run", overwrite, "second = 1\n");
  comm_.barrier();
  EXPECT_EQ(test::content_of(folder_ / "run/config.toml"), "second = 1\n");
}

TEST_F(RunFolderTest, AFolderThatCannotBeMadeIsSaidOnAllRanks) {
  if (comm_.rank() == 0) test::overwrite(folder_ / "file", "x");
  comm_.barrier();

  try {
    io::prepare_run_folder(comm_, folder_ / "file/run", io::ExistingRun::refuse, "");
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.where(), folder_ / "file/run");
  }
}

}  // namespace
}  // namespace sidestream
