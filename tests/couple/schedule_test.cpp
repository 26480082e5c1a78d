#include "sidestream/couple/schedule.hpp"

#include <gtest/gtest.h>

#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

Condition condition(const std::string& text) {
  return Condition(core::Node(text, "when"));
}

class ScheduleTest : public testing::Test {
 protected:
  Schedule schedule() { return Schedule(world_, bill_, 1.0); }

  void decide(Schedule& schedule, std::int64_t step, std::optional<double> wall_s = 0.0) {
    const PresentState::SnapshotOf present = [&]() -> const mesh::Snapshot& {
      ++snapshots_;
      snapshot_ = snapshot_of(world_, step);
      return snapshot_;
    };
    schedule.decide({.moment = {.step = step}, .wall_s = wall_s}, present);
  }

  comm::Communicator world_{MPI_COMM_WORLD};
  core::Bill bill_;
  mesh::Snapshot snapshot_;
  int snapshots_ = 0;
};

TEST_F(ScheduleTest, DecidesOnceAStep) {
  Schedule all = schedule();
  all.add("rise", Trigger({.when = condition("step > 1")}));
  decide(all, 1);
  decide(all, 2);
  decide(all, 2);

  EXPECT_TRUE(all.is_due("rise"));
  EXPECT_FALSE(all.is_due("nobody"));
  decide(all, 3);
  EXPECT_FALSE(all.is_due("rise"));
}

TEST_F(ScheduleTest, AReductionIsMadeOnceAStepHoweverManyAskForIt) {
  Schedule all = schedule();
  for (const char* const name : {"a", "b", "c"})
    all.add(name, Trigger({.when = condition("max(density) > 10921 or max(density) < 0")}));
  decide(all, 2);
  EXPECT_EQ(snapshots_, 1);
  EXPECT_FALSE(all.is_due("a"));

  decide(all, 4);
  EXPECT_EQ(snapshots_, 2);
  EXPECT_TRUE(all.is_due("a") && all.is_due("b") && all.is_due("c"));
}

TEST_F(ScheduleTest, NobodyIsAskedForWhatIsNotNeeded) {
  Schedule all = schedule();
  all.add("steps", Trigger({.every = 1, .when = condition("max(density) > 0")}));
  all.add("some", Trigger({.every = 2, .only_if = condition("max(density) > 0")}));
  decide(all, 1);

  EXPECT_EQ(snapshots_, 0);
}

TEST_F(ScheduleTest, WhatTriggersRememberOutlivesARestart) {
  const auto add_all = [](Schedule& to) {
    to.add("wall", Trigger({.every_wall_time_s = 10.0}));
    to.add("rise", Trigger({.when = condition("step > 1")}));
    to.add("steps", Trigger({.every = 3}));
  };
  Schedule before = schedule(), after = schedule();
  add_all(before);
  add_all(after);
  decide(before, 1, 1.0);
  decide(before, 3, 8.0);
  EXPECT_TRUE(before.is_due("rise") && before.is_due("steps"));

  after.resume({.step = 3}, before.memory());

  EXPECT_FALSE(after.is_due("steps"));
  decide(after, 4, 1.0);
  EXPECT_FALSE(after.is_due("rise") || after.is_due("wall"));
  decide(after, 5, 2.0);
  EXPECT_TRUE(after.is_due("wall"));
}

TEST_F(ScheduleTest, WithoutMemoryThereIsNothingToKeep) {
  Schedule all = schedule();
  all.add("steps", Trigger({.every = 3, .at_redshift = {3.0}}));

  EXPECT_EQ(all.memory(), "");
  EXPECT_THROW(all.resume({}, "{\"steps\": 3}"), core::Error);
}

TEST_F(ScheduleTest, TheClockIsThatOfTheFirstRankWhereNobodyTellsIt) {
  Schedule all = schedule();
  all.add("always", Trigger({.every_wall_time_s = 1e-9}));
  decide(all, 1, std::nullopt);

  EXPECT_TRUE(all.is_due("always"));
}

}  // namespace
}  // namespace sidestream::couple
