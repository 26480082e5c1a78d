#include "sidestream/io/generations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sidestream/core/error.hpp"
#include "sidestream/io/background_writer.hpp"
#include "sidestream/io/pending.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "support/sample_content.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

using testing::ElementsAre;

class Generations : public testing::Test {
 protected:
  void write(std::int64_t step, const std::string& name = "sidestream") const {
    test::FileState content = sample_.content(true);
    content.state.moment.step = step;
    const io::Format& format = io::formats().named(name);
    test::write(comm_, format, folder_ / format.checkpoint->of(step), content);
  }
  void write_pending(const io::Format& format, const std::string& path, test::FileState content) const {
    content.choice.format = &format;
    io::write_pending(comm_, path, [&](const std::string& pending) {
      return io::write_snapshot(comm_, content.state, content.choice, pending);
    });
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> found;
    for (const io::Generation& generation : io::generations_in(comm_, folder_.path())) found.push_back(generation.step);
    return found;
  }
  void cut(std::int64_t step) const {
    const std::string path = folder_ / io::formats().named("sidestream").checkpoint->of(step);
    if (comm_.rank() == 0) std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    comm_.barrier();
  }
  void keep(int count) const {
    if (comm_.rank() == 0) io::remove_old_generations(folder_.path(), count);
    comm_.barrier();
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  test::SampleContent sample_{comm_.rank(), comm_.size()};
};

TEST_F(Generations, OfAllFormatsAreFoundNewestFirst) {
  write(3, "nyx");
  write(12);
  write(5, "raw");

  EXPECT_THAT(steps(), ElementsAre(12, 5, 3));
}

TEST_F(Generations, OldOnesGoAndDamagedOnesDoNotCount) {
  for (const std::int64_t step : {1, 2, 3, 4}) write(step);
  cut(4);

  keep(2);

  EXPECT_THAT(steps(), ElementsAre(4, 3, 2));
}

TEST_F(Generations, OneWhoseDataAreCutDoesNotCountWhateverItsFormat) {
  for (const io::Format& format : io::formats()) {
    if (!format.checkpoint) continue;
    for (const std::int64_t step : {1, 2, 3}) write(step, format.name);
    if (comm_.rank() == 0) test::cut_largest_file(folder_ / format.checkpoint->of(3));

    keep(2);

    EXPECT_THAT(steps(), ElementsAre(3, 2, 1)) << format.name;
    comm_.barrier();
    if (comm_.rank() == 0)
      for (const std::int64_t step : {1, 2, 3}) std::filesystem::remove_all(folder_ / format.checkpoint->of(step));
    comm_.barrier();
  }
}

TEST_F(Generations, LeftoversOfInterruptedWritesGo) {
  write(1);
  if (comm_.rank() == 0) {
    test::overwrite(folder_ / ".chk00002.hdf5_chk.tmp", "half");
    test::overwrite(folder_ / ".chk00002.hdf5_chk.tmp.trial", "of a way of writing");
    std::filesystem::create_directories(folder_ / ".chk00003.tmp/Level_0");
    test::overwrite(folder_ / "notes.txt", "mine");
  }

  keep(1);

  EXPECT_FALSE(std::filesystem::exists(folder_ / ".chk00002.hdf5_chk.tmp"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / ".chk00002.hdf5_chk.tmp.trial"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / ".chk00003.tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "notes.txt"));
}

TEST_F(Generations, APlotFileThatIsBeingWrittenIsNoLeftover) {
  write(1);
  if (comm_.rank() == 0) std::filesystem::create_directories(folder_ / ".plt00002.tmp/Level_0");

  keep(1);

  EXPECT_TRUE(std::filesystem::exists(folder_ / ".plt00002.tmp"));
}

TEST_F(Generations, APendingCheckpointOfAnyFormatIsNoneUntilItIsCommitted) {
  for (const io::Format& format : io::formats()) {
    if (!format.checkpoint) continue;
    const std::string path = folder_ / format.checkpoint->of(7), other = folder_ / ("as_" + format.name);
    write_pending(format, path, sample_.content(true));

    EXPECT_THAT(steps(), ElementsAre()) << format.name;
    EXPECT_TRUE(io::is_pending(io::pending_path(path)));
    EXPECT_FALSE(io::is_pending(path));
    io::open_snapshot_file(io::pending_path(path))->verify();
    comm_.barrier();

    if (comm_.rank() == 0) io::commit(path);
    comm_.barrier();
    EXPECT_THAT(steps(), ElementsAre(7)) << format.name;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "pending"));
    const auto file = io::open_snapshot_file(path);
    file->verify();
    EXPECT_EQ(file->description().format, format.name);
    comm_.barrier();
    if (comm_.rank() == 0) std::filesystem::remove_all(path);
    comm_.barrier();
  }
}

TEST_F(Generations, ACommittedCheckpointTakesThePlaceOfOneOfItsName) {
  for (const char* name : {"sidestream", "nyx"}) {
    const io::Format& format = io::formats().named(name);
    write(3, name);
    const std::string path = folder_ / format.checkpoint->of(3);
    test::FileState content = sample_.content(true);
    content.state.moment.time = 42.0;
    write_pending(format, path, content);
    comm_.barrier();
    if (comm_.rank() == 0) io::commit(path);
    comm_.barrier();

    EXPECT_EQ(io::open_snapshot_file(path)->description().state.moment.time, 42.0) << name;
  }
}

TEST_F(Generations, NothingOfAPendingCheckpointIsLeftWhenARunFolderIsGone) {
  const std::string gone = folder_ / "gone";

  EXPECT_THROW(write_pending(io::formats().named("sidestream"), gone + "/chk00001.hdf5_chk", sample_.content(true)),
               core::Error);

  EXPECT_FALSE(std::filesystem::exists(gone));
}

TEST(StepName, GivesTheStepBackAndNoOthers) {
  const io::StepName name{"chk", ".raw", 5};

  EXPECT_EQ(name.of(42), "chk00042.raw");
  EXPECT_EQ(name.step_of("chk00042.raw"), 42);
  EXPECT_EQ(name.step_of("chk1234567.raw"), 1234567);
  for (const char* other : {"chk42.raw", "chk00042", "chk0004x.raw", ".chk00042.raw.tmp", "chk.raw", "raw"})
    EXPECT_FALSE(name.step_of(other).has_value()) << other;
}

TEST_F(Generations, AFileWrittenInTheBackgroundIsThatOfTheMomentItWasStarted) {
  const io::Format& format = io::formats().named("sidestream");
  const std::string path = folder_ / format.checkpoint->of(1), here = folder_ / format.checkpoint->of(2);
  io::BackgroundWriter writer(comm_);
  {
    test::SampleContent passing(comm_.rank(), comm_.size());
    const test::FileState content = passing.content(true);
    writer.start(
        [&format, path, copy = test::FileState{io::copy_of(comm_, content.snapshot(), content.choice), content.choice}](
            const comm::Communicator& comm) { return test::write(comm, format, path, copy); });
  }
  test::write(comm_, format, here, sample_.content(true));

  const auto outcome = writer.finish(true);

  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->error, "");
  EXPECT_FALSE(writer.is_busy());
  comm_.barrier();
  EXPECT_TRUE(test::content_of(path) == test::content_of(here));
}

TEST_F(Generations, AFailureInTheBackgroundIsToldOnAllRanks) {
  io::BackgroundWriter writer(comm_);
  writer.start([&](const comm::Communicator& comm) {
    return test::write(comm, io::formats().named("sidestream"), folder_ / "no such folder/chk00001.hdf5_chk",
                       sample_.content(true));
  });

  const auto outcome = writer.finish(true);

  ASSERT_TRUE(outcome.has_value());
  EXPECT_THAT(outcome->error, testing::HasSubstr("no such folder"));
}

}  // namespace
}  // namespace sidestream
