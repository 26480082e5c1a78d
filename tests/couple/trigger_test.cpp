#include <gtest/gtest.h>

#include "sidestream/core/error.hpp"
#include "sidestream/couple/task.hpp"

namespace sidestream::couple {
namespace {

// The steps, counted from 0, at which `trigger` is due on a run through these redshifts.
std::vector<std::int64_t> due_steps(Trigger trigger, const std::vector<double>& redshifts) {
  std::vector<std::int64_t> due;
  for (std::size_t step = 0; step < redshifts.size(); ++step)
    if (trigger.is_due(static_cast<std::int64_t>(step), redshifts[step]))
      due.push_back(static_cast<std::int64_t>(step));
  return due;
}

TEST(Trigger, EveryThirdStepIsDueFromStepZeroOn) {
  EXPECT_EQ(due_steps(Trigger(3), {9, 8, 7, 6, 5, 4, 3}), (std::vector<std::int64_t>{0, 3, 6}));
}

TEST(Trigger, ARedshiftIsDueWhenTheRunLandsOnIt) {
  EXPECT_EQ(due_steps(Trigger(0, {3.0}), {5.0, 4.0, 3.0, 2.0}), (std::vector<std::int64_t>{2}));
}

TEST(Trigger, ARedshiftIsDueOnceWhenTheRunPassesIt) {
  EXPECT_EQ(due_steps(Trigger(0, {3.0, 2.9}), {5.0, 3.5, 2.5, 2.0}), (std::vector<std::int64_t>{2}));
}

TEST(Trigger, LandingMayBeOffByTheRoundingOfTheScaleFactor) {
  const double nearly_3 = 1.0 / (1.0 / 4.0 * (1.0 + 2e-16)) - 1.0;

  EXPECT_EQ(due_steps(Trigger(0, {3.0}), {4.0, nearly_3 + 1e-12, nearly_3 - 1e-12, 2.0}),
            (std::vector<std::int64_t>{1}));
}

TEST(Trigger, ARunThatStartsAtTheRedshiftIsDueAtOnce) {
  EXPECT_EQ(due_steps(Trigger(0, {50.0}), {50.0, 49.0}), (std::vector<std::int64_t>{0}));
}

TEST(Trigger, ARedshiftPassedBeforeARestartIsNotDueAgain) {
  EXPECT_EQ(due_steps(Trigger(0, {6.0, 2.0}), {4.0, 3.0, 2.0}), (std::vector<std::int64_t>{2}));
}

TEST(Trigger, AskingTwiceAboutAStepGivesTheSameAnswer) {
  Trigger trigger(0, {3.0});
  trigger.is_due(0, 4.0);

  EXPECT_TRUE(trigger.is_due(1, 3.0));
  EXPECT_TRUE(trigger.is_due(1, 3.0));
  EXPECT_FALSE(trigger.is_due(2, 2.0));
}

TEST(Trigger, StepsAndRedshiftsMayBeCombined) {
  EXPECT_EQ(due_steps(Trigger(4, {3.0}), {5.0, 4.0, 3.0, 2.0, 1.0}), (std::vector<std::int64_t>{0, 2, 4}));
}

TEST(Trigger, RedshiftsWithoutARedshiftAreRefused) {
  Trigger trigger(0, {3.0});

  EXPECT_THROW(trigger.is_due(0, std::nullopt), core::Error);
}

}  // namespace
}  // namespace sidestream::couple
