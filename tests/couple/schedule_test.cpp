#include "sidestream/couple/schedule.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

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

// What restricts others is looked at where these are due, what becomes true in every step.
TEST_F(ScheduleTest, NobodyIsAskedForWhatIsNotNeeded) {
  Schedule all = schedule();
  all.add("some", Trigger({.every = 2, .only_if = condition("max(density) > 0")}));
  decide(all, 1);
  EXPECT_EQ(snapshots_, 0);

  decide(all, 2);
  EXPECT_EQ(snapshots_, 1);
}

TEST_F(ScheduleTest, WhatBecameTrueWhereSomethingElseWasDueIsNotDueForItAgain) {
  Schedule all = schedule();
  all.add("both", Trigger({.every = 10, .when = condition("step >= 10")}));
  for (std::int64_t step = 9; step <= 12; ++step) {
    decide(all, step);
    EXPECT_EQ(all.is_due("both"), step == 10) << step;
  }
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

// The clocks of the ranks have begun at other times, and again after each restart.
TEST_F(ScheduleTest, ByTheClockTheSameIsDueOnAllRanksAndGoesOnOverRestarts) {
  constexpr double period_s = 0.01;
  constexpr std::array<useconds_t, 8> pauses_us{3000, 1000, 11000, 2000, 500, 4000, 12000, 6000};
  std::string memory;
  std::int64_t step = 0, due = 0;
  for (int start = 0; start < 5; ++start) {
    core::Bill bill(core::Bill::Clock::now() - std::chrono::milliseconds(7 * world_.rank()));
    Schedule all(world_, bill, 1.0);
    all.add("wall", Trigger({.every_wall_time_s = period_s}));
    // When it was due last, by the clock of rank 0: not before, and not after.
    std::array<double, 2> last{0.0, 0.0}, now{0.0, 0.0};
    if (start > 0) {
      all.resume({.step = step}, memory);
      last.fill(-nlohmann::json::parse(memory).at("wall").at("quiet_s").get<double>());
    }
    for (const useconds_t pause : pauses_us) {
      usleep(pause);
      now[0] = bill.wall_s();
      decide(all, ++step, std::nullopt);
      now[1] = bill.wall_s();

      const bool is_due = all.is_due("wall");
      EXPECT_EQ(world_.sum(std::int64_t{is_due}), is_due ? world_.size() : 0) << "step " << step;
      if (world_.rank() == 0) {
        EXPECT_GE(now[1] - last[0], is_due ? period_s : 0.0) << "step " << step;
        EXPECT_TRUE(is_due || now[0] - last[1] < period_s) << "step " << step;
      }
      if (is_due) last = now;
      due += is_due;
    }
    memory = all.memory();
    EXPECT_EQ(memory, world_.broadcast(memory));
    const double quiet_s = nlohmann::json::parse(memory).at("wall").at("quiet_s");
    if (world_.rank() == 0) {
      EXPECT_TRUE(now[0] - last[1] <= quiet_s && quiet_s <= now[1] - last[0]) << quiet_s;
    }
  }
  EXPECT_GE(due, 10);  // in each start after the two long pauses
}

}  // namespace
}  // namespace sidestream::couple
