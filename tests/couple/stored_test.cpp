// Snapshots that are stored and analysed later: the results of in situ, on any number of ranks.
#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Stored : public SessionTest {
 protected:
  CouplingConfig stored(std::shared_ptr<const analysis::Analysis> analysis) const {
    return config_of({task_of("later", std::move(analysis), "file")});
  }
  void expect_results_of(const std::string& other, std::int64_t steps) const {
    for (std::int64_t step = 0; world_.rank() == 0 && step < steps; ++step) {
      ASSERT_TRUE(has_result("later", step)) << step;
      mesh::Result here = io::read_result(folder_.result(other, step));
      here.attributes["task"] = "later";
      expect_equal(here, io::read_result(folder_.result("later", step)));
    }
  }
  void remove_result(std::int64_t step) const {
    if (world_.rank() == 0) std::filesystem::remove(folder_.result("later", step));
    world_.barrier();
  }
};

TEST_F(Stored, ResultsAreThoseOfInSituOnAnyNumberOfRanks) {
  constexpr std::int64_t steps = 9;
  const auto digest = std::make_shared<test::Digest>();
  run(config_of({task_of("here", digest, "in-situ")}), steps, refined_snapshot_of);
  const CouplingConfig config = stored(digest);
  const auto totals = run(config, steps, refined_snapshot_of);
  if (world_.rank() == 0) {
    EXPECT_EQ(totals.at(0).count, 0);
    EXPECT_FALSE(has_result("later", 0));
  }
  for (int ranks = 1; ranks <= world_.size(); ++ranks) {
    const auto later = analyze_stored(config, ranks);
    if (world_.rank() == 0) {
      EXPECT_EQ(later.at(0).count, steps);
    }
    expect_results_of("here", steps);
    if (world_.rank() == 0) std::filesystem::remove_all(folder_.path() + "/results/later");
    world_.barrier();
  }
}

TEST_F(Stored, ResultsThatAreThereAreNotMadeAgain) {
  const auto digest = std::make_shared<test::Digest>();
  const CouplingConfig config = stored(digest);
  run(config_of({task_of("here", digest, "in-situ")}), 4);
  run(config, 4);
  analyze_stored(config, world_.size());
  remove_result(2);

  const auto again = analyze_stored(config, world_.size());

  if (world_.rank() == 0) {
    EXPECT_EQ(again.at(0).count, 1);
  }
  expect_results_of("here", 4);
}

// The earlier result that it compares with is that of the step before, whatever was there.
TEST_F(Stored, ATaskThatLooksBackIsDoneAgainFromTheFirstMissingResultOn) {
  const auto counter = std::make_shared<test::Counter>();
  const CouplingConfig config = stored(counter);
  run(config_of({task_of("here", counter, "in-situ")}), 6);
  run(config, 6);
  analyze_stored(config, world_.size());
  remove_result(1);
  remove_result(4);

  const auto again = analyze_stored(config, world_.size());

  if (world_.rank() == 0) {
    EXPECT_EQ(again.at(0).count, 5);
  }
  expect_results_of("here", 6);
}

TEST_F(Stored, ADamagedSnapshotIsReportedAndTheOthersAreDone) {
  const auto digest = std::make_shared<test::Digest>();
  const CouplingConfig config = stored(digest);
  run(config_of({task_of("here", digest, "in-situ")}), 3);
  run(config, 3);
  if (world_.rank() == 0) {
    const std::string path = folder_.snapshot(1);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  }
  world_.barrier();

  const auto totals = analyze_stored(config, world_.size());

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).count, 2);
  EXPECT_EQ(totals.at(0).failed, 1);
  EXPECT_FALSE(has_result("later", 1));
  EXPECT_TRUE(has_result("later", 2));
  EXPECT_THAT(told_, Contains(HasSubstr("its snapshot cannot be read")));
  EXPECT_THAT(events("analyze", "analysis_failed"), SizeIs(1));
}

TEST_F(Stored, WhatCannotBeStoredHoldsBackLaterCheckpoints) {
  if (world_.rank() == 0) std::ofstream(folder_.snapshots()) << "in the way";
  world_.barrier();
  Session session = start(stored(std::make_shared<test::Digest>()));
  const Session::Mark before = session.mark();
  session.publish(snapshot_of(session.compute_group(), 0));

  if (world_.rank() == 0) {
    EXPECT_TRUE(session.outlook(before).are_written);
    EXPECT_TRUE(session.outlook(session.mark()).is_done);
    EXPECT_FALSE(session.outlook(session.mark()).are_written);
  }
  const auto totals = session.finish();
  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).unwritten, 1);
  EXPECT_THAT(warnings_, Contains(HasSubstr("the snapshot was not stored")));
}

TEST_F(Stored, WhereNothingWasStoredThatIsSaid) {
  EXPECT_THROW(analyze_stored(stored(std::make_shared<test::Digest>()), world_.size()), core::Error);
  world_.barrier();
  EXPECT_THAT(events("analyze", "analyze_start"), IsEmpty());
}

}  // namespace
}  // namespace sidestream::couple
