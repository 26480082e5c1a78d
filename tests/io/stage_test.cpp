// What is staged on disks of the nodes, here folders, comes back to the byte, on these ranks or others, as long as each
// part is there once.
#include "sidestream/io/stage.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>

#include "io/format_fixture.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream {
namespace {

using test::FileState;
using test::SampleState;
using testing::HasSubstr;

class StageTest : public testing::Test {
 protected:
  // A folder of its own for each rank.
  std::string disk(int rank) const { return folder_ / ("disk" + std::to_string(rank)); }
  std::string own_disk() const {
    std::filesystem::create_directories(disk(comm_.rank()));
    return disk(comm_.rank());
  }
  static void no_news(const std::string& text) { ADD_FAILURE() << text; }

  // The file that is written from what was staged is the one that is written at once.
  void expect_back(const io::Stage& stage, const io::StagedSet& set, const FileState& file,
                   const std::function<void(const std::string&)>& tell = no_news) const {
    io::FileChoice choice = file.choice;
    choice.format = &io::formats().named("raw");
    io::write_snapshot(comm_, file.snapshot(), choice, folder_ / "at_once.raw");
    const comm::Communicator others = comm_.duplicate();
    io::write_carried(others, stage.open(others, io::StagedSet::from_text(set.to_text()), tell), choice,
                      folder_ / "from_stage.raw");
    EXPECT_TRUE(test::content_of(folder_ / "at_once.raw") == test::content_of(folder_ / "from_stage.raw"));
  }

  io::StagedSet staged(const io::Stage& stage, const FileState& file) const {
    io::FileChoice choice = file.choice;
    choice.format = &io::formats().named("raw");
    const mesh::Snapshot snapshot = file.snapshot();
    return stage.write("chk00007.raw", io::carried_content(comm_, snapshot, choice));
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
};

TEST_F(StageTest, GivesBackWhatWasStagedToTheByte) {
  for (const int levels : {1, 3}) {
    const SampleState sample(comm_, levels, test::Deal::in_pieces);
    const io::Stage stage(comm_, own_disk(), folder_ / "run");
    EXPECT_EQ(stage.nodes(), comm_.size());
    EXPECT_FALSE(stage.is_shared());
    for (const FileState& file : {sample.checkpoint(), sample.plotfile()}) {
      const io::StagedSet set = staged(stage, file);
      expect_back(stage, set, file);
      stage.remove(set);
    }
    comm_.barrier();
    stage.remove_all();
    EXPECT_TRUE(std::filesystem::is_empty(disk(comm_.rank())));
  }
}

TEST_F(StageTest, OutlivesTheLossOfADisk) {
  if (comm_.size() == 1) return;
  const SampleState sample(comm_, 1, test::Deal::in_pieces);
  const io::StagedSet set = staged(io::Stage(comm_, own_disk(), folder_ / "run"), sample.checkpoint());
  if (comm_.rank() == 1) std::filesystem::remove_all(disk(1));
  comm_.barrier();

  const io::Stage again(comm_, own_disk(), folder_ / "run");
  std::string told;
  const io::CarriedContent content = again.open(comm_, set, [&](const std::string& text) { told += text; });

  if (comm_.rank() == 0) {
    EXPECT_THAT(told, HasSubstr("the parts of the ranks 1 are not whole"));
  }
  std::int64_t cells = 0;
  for (const std::int32_t box : content.state.levels[0].boxes_of(comm_.rank()))
    cells += content.state.levels[0].box(box).volume();
  EXPECT_EQ(comm_.sum(cells), std::int64_t{SampleState::cells} * SampleState::cells * SampleState::cells);
}

TEST_F(StageTest, NamesTheNodesOfPartsThatAreGone) {
  const io::StagedSet set = staged(io::Stage(comm_, own_disk(), folder_ / "run"), SampleState(comm_, 1).checkpoint());
  std::filesystem::remove_all(own_disk());
  comm_.barrier();

  const io::Stage again(comm_, own_disk(), folder_ / "run");
  try {
    again.open(comm_, set, [](const std::string&) {});
    ADD_FAILURE() << "nothing is there";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("is not whole"));
    EXPECT_THAT(error.where(), HasSubstr(set.hosts.front()));
  }
}

TEST_F(StageTest, NamesTheHostsWhereNoRankIs) {
  const io::Stage stage(comm_, own_disk(), folder_ / "run");
  io::StagedSet set = staged(stage, SampleState(comm_, 1).checkpoint());
  EXPECT_THAT(stage.unseen_hosts(set), testing::IsEmpty());
  set.hosts.front() = "left";
  set.partners.front() = "gone";
  EXPECT_THAT(stage.unseen_hosts(set), testing::ElementsAre("gone", "left"));
}

TEST_F(StageTest, IsOneNodeWhereAllSeeTheSameFolder) {
  const io::Stage stage(comm_, folder_.path(), folder_ / "run");
  EXPECT_EQ(stage.nodes(), 1);
  const SampleState sample(comm_, 1, test::Deal::in_pieces);
  const FileState file = sample.checkpoint();
  expect_back(stage, staged(stage, file), file);
}

TEST(StageFolder, IsCheckedAndNamesVariables) {
  EXPECT_THROW(io::check_stage("/nowhere/at/all", "key `stage`"), core::Error);
  ASSERT_EQ(::setenv("SIDESTREAM_TEST_DISK", "/some/disk", 1), 0);
  EXPECT_EQ(io::with_environment("$SIDESTREAM_TEST_DISK/stage", ""), "/some/disk/stage");
  EXPECT_THROW(io::with_environment("$SIDESTREAM_TEST_NO_DISK", ""), core::Error);
  EXPECT_THROW(io::StagedSet::from_text("{}"), core::Error);
}

}  // namespace
}  // namespace sidestream
