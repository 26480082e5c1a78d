#include "sidestream/couple/trigger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "couple/session_fixture.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {
namespace {

using testing::HasSubstr;
using Steps = std::vector<std::int64_t>;

Condition condition(const std::string& text) {
  return Condition(core::Node(text, "when"));
}

// The steps, counted from 0, at which `trigger` is due on a run of these occasions, each of which becomes a step.
Steps due_steps(Trigger trigger, std::vector<Occasion> occasions) {
  const comm::Communicator world(MPI_COMM_WORLD);
  Steps due;
  for (std::size_t step = 0; step < occasions.size(); ++step) {
    occasions[step].moment.step = static_cast<std::int64_t>(step);
    PresentState state(world, occasions[step].moment, {}, 1.0);
    if (trigger.is_due(occasions[step], state)) due.push_back(static_cast<std::int64_t>(step));
  }
  return due;
}

Steps due_steps(Trigger trigger, const std::vector<double>& redshifts) {
  std::vector<Occasion> occasions;
  for (const double z : redshifts) occasions.push_back({moment_at(0, z)});
  return due_steps(std::move(trigger), std::move(occasions));
}

Steps due_at_times(Trigger trigger, const std::vector<double>& times) {
  std::vector<Occasion> occasions;
  for (const double time : times) occasions.push_back({{.time = time}});
  return due_steps(std::move(trigger), std::move(occasions));
}

TEST(Trigger, EveryThirdStepIsDueFromStepZeroOn) {
  EXPECT_EQ(due_steps(Trigger({.every = 3}), {9, 8, 7, 6, 5, 4, 3}), (std::vector<std::int64_t>{0, 3, 6}));
}

TEST(Trigger, ARedshiftIsDueWhenTheRunLandsOnIt) {
  EXPECT_EQ(due_steps(Trigger({.at_redshift = {3.0}}), {5.0, 4.0, 3.0, 2.0}), (std::vector<std::int64_t>{2}));
}

TEST(Trigger, ARedshiftIsDueOnceWhenTheRunPassesIt) {
  EXPECT_EQ(due_steps(Trigger({.at_redshift = {3.0, 2.9}}), {5.0, 3.5, 2.5, 2.0}), (std::vector<std::int64_t>{2}));
}

TEST(Trigger, LandingMayBeOffByTheRoundingOfTheScaleFactor) {
  const double nearly_3 = 1.0 / (1.0 / 4.0 * (1.0 + 2e-16)) - 1.0;

  EXPECT_EQ(due_steps(Trigger({.at_redshift = {3.0}}), {4.0, nearly_3 + 1e-12, nearly_3 - 1e-12, 2.0}),
            (std::vector<std::int64_t>{1}));
}

TEST(Trigger, ARunThatStartsAtTheRedshiftIsDueAtOnce) {
  EXPECT_EQ(due_steps(Trigger({.at_redshift = {50.0}}), {50.0, 49.0}), (std::vector<std::int64_t>{0}));
}

TEST(Trigger, ARedshiftPassedBeforeARestartIsNotDueAgain) {
  EXPECT_EQ(due_steps(Trigger({.at_redshift = {6.0, 2.0}}), {4.0, 3.0, 2.0}), (std::vector<std::int64_t>{2}));
}

TEST(Trigger, StepsAndRedshiftsMayBeCombined) {
  EXPECT_EQ(due_steps(Trigger({.every = 4, .at_redshift = {3.0}}), {5.0, 4.0, 3.0, 2.0, 1.0}),
            (std::vector<std::int64_t>{0, 2, 4}));
}

TEST(Trigger, RedshiftsWithoutARedshiftAreRefused) {
  EXPECT_THROW(due_at_times(Trigger({.at_redshift = {3.0}}), {0.0}), core::Error);
}

TEST(Trigger, ATimeIsDueWhenTheRunLandsOnItOrPassesIt) {
  EXPECT_EQ(due_at_times(Trigger({.at_time = {0.5, 0.9}}), {0.0, 0.25, 0.5, 0.75, 1.0}), (Steps{2, 4}));
  EXPECT_EQ(due_at_times(Trigger({.at_time = {0.0, 2.0}}), {0.0, 0.25}), (Steps{0}));
}

TEST(Trigger, TheStartMayBeLeftOutOfEvery) {
  EXPECT_EQ(due_at_times(Trigger({.every = 2, .counts_start = false}), {0, 1, 2, 3, 4}), (Steps{2, 4}));
}

TEST(Trigger, StartAndEndAreThoseOfTheRun) {
  std::vector<Occasion> run(4);
  run[0].is_start = run[3].is_end = true;

  EXPECT_EQ(due_steps(Trigger({.at_start = true}), run), (Steps{0}));
  EXPECT_EQ(due_steps(Trigger({.at_end = true}), run), (Steps{3}));
  EXPECT_EQ(due_steps(Trigger({.at_start = true, .at_end = true}), run), (Steps{0, 3}));
}

TEST(Trigger, WallTimeCountsFromWhenItWasLastDueForWhateverReason) {
  std::vector<Occasion> run(8);
  for (std::size_t step = 0; step < run.size(); ++step) run[step].wall_s = 4.0 * static_cast<double>(step);

  EXPECT_EQ(due_steps(Trigger({.every_wall_time_s = 10.0}), run), (Steps{3, 6}));
  EXPECT_EQ(due_steps(Trigger({.every = 4, .counts_start = false, .every_wall_time_s = 10.0}), run), (Steps{3, 4, 7}));
}

TEST(Trigger, WhenIsDueWhereItBecomesTrueAndOnlyThere) {
  EXPECT_EQ(due_at_times(Trigger({.when = condition("time > 1 and time < 4 or time > 5")}), {0, 1, 2, 3, 4, 5, 6, 7}),
            (Steps{2, 6}));
  EXPECT_EQ(due_at_times(Trigger({.when = condition("time >= 0")}), {0, 1}), (Steps{0}));
}

TEST(Trigger, WhenIsLookedAtWhereSomethingElseSaysYes) {
  EXPECT_EQ(due_at_times(Trigger({.every = 2, .when = condition("time > 1.5")}), {0, 1, 2, 3, 4, 5, 6}),
            (Steps{0, 2, 4, 6}));
  EXPECT_EQ(due_at_times(Trigger({.every = 3, .when = condition("time > 3")}), {0, 1, 2, 3, 4, 5, 6}),
            (Steps{0, 3, 4, 6}));
}

TEST(Trigger, OnlyIfChoosesAmongTheMomentsOfTheOthers) {
  EXPECT_EQ(due_at_times(Trigger({.every = 2, .only_if = condition("time > 3")}), {0, 1, 2, 3, 4, 5, 6}),
            (Steps{4, 6}));
}

TEST(Trigger, GoesOnAfterARestartWhereItStood) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto is_due = [&](Trigger& trigger, double time, double wall_s) {
    const Occasion occasion{{.step = static_cast<std::int64_t>(time), .time = time}, false, false, wall_s};
    PresentState state(world, occasion.moment, {}, 1.0);
    return trigger.is_due(occasion, state);
  };
  const Trigger fresh({.at_time = {4.0}, .every_wall_time_s = 10.0, .when = condition("time > 1")});
  Trigger first = fresh, second = fresh;
  EXPECT_FALSE(is_due(first, 1.0, 3.0));
  EXPECT_TRUE(is_due(first, 2.0, 4.0));
  EXPECT_FALSE(is_due(first, 3.0, 8.0));

  second.resume({.step = 3, .time = 3.0}, 0.0, first.memory(8.0));

  EXPECT_TRUE(is_due(second, 4.0, 1.0));
  EXPECT_FALSE(is_due(second, 5.0, 10.5));
  EXPECT_TRUE(is_due(second, 6.0, 11.0));
}

TEST(Trigger, TellsItselfInWords) {
  EXPECT_EQ(in_words({.every = 10, .at_redshift = {3.0, 2.5}, .at_end = true}),
            "every 10 steps or at redshift 3, 2.5 or at the end");
  EXPECT_EQ(in_words({.every = 1, .only_if = condition("step > 2")}), "every step, only if `step > 2`");
}

class Keys : public SessionTest {
 protected:
  static When read(const std::string& keys, const TimeKeeping& times = {}) {
    const std::string task = "[task.a]\nanalysis = 'digest'\n" + keys;
    return read_coupling(core::parse_toml(task, "run.toml"), nullptr, test::only_digest(), times)
        .tasks.front()
        .trigger.when();
  }
  static core::Error error_of(const std::string& keys, const TimeKeeping& times = {}) {
    try {
      read(keys, times);
    } catch (const core::Error& error) {
      return error;
    }
    return core::Error("accepted");
  }
};

TEST_F(Keys, AreReadWithTheirUnits) {
  const core::Units units{{"Gyr", 2.0}, {"Myr", 0.002}};

  const When when = read(
      "at_time = ['1.5 Gyr', '500 Myr']\nevery_wall_time = '10 min'\nat_start = true\nat_end = true\n"
      "when = 'max(density) > 2'\nonly_if = 'step > 3'",
      {true, &units, 2.0});

  EXPECT_EQ(when.at_time, (std::vector<double>{3.0, 1.0}));
  EXPECT_EQ(when.every_wall_time_s, 600.0);
  EXPECT_TRUE(when.at_start && when.at_end);
  EXPECT_EQ(when.when->text(), "max(density) > 2");
  EXPECT_EQ(when.only_if->text(), "step > 3");
}

TEST_F(Keys, ThatNeverMakeATaskDueAreRefused) {
  EXPECT_EQ(error_of("").message(), "the task is never due");
  EXPECT_EQ(error_of("every = 0").message(), "the task is never due");
  EXPECT_EQ(error_of("at_redshift = []").message(), "the task is never due");
  EXPECT_THAT(error_of("only_if = 'step > 2'").hint(), HasSubstr("`when`"));
}

TEST_F(Keys, ThatAreWrongAreRefusedWithTheirPlace) {
  EXPECT_THAT(error_of("evry = 2").hint(), HasSubstr("`every`"));
  EXPECT_THAT(error_of("at_redshift = [-1.5]").message(), HasSubstr("no redshift"));
  EXPECT_THAT(error_of("at_redshift = [1]", {.has_redshift = false}).message(), HasSubstr("has no redshift"));
  EXPECT_THAT(error_of("at_time = [-1]").message(), HasSubstr("from 0"));
  EXPECT_THAT(error_of("at_time = ['1 Gyr']").where(), HasSubstr("run.toml:3"));
  EXPECT_THAT(error_of("every_wall_time = 10").message(), HasSubstr("has no unit"));
  EXPECT_THAT(error_of("at_end = 1").message(), HasSubstr("true or false"));
  EXPECT_THAT(error_of("when = 3").message(), HasSubstr("must be a string"));
  EXPECT_THAT(error_of("when = 'stp > 3'").where(), HasSubstr("run.toml:3:8, key `task.a.when`, column 1 of"));
}

TEST_F(Keys, AreAllLeftAloneByTheAnalyses) {
  std::vector<std::string> names;
  for (const core::Option& option : task_options()) names.push_back(option.name);

  EXPECT_THAT(names, testing::UnorderedElementsAreArray(analysis::task_keys()));
}

}  // namespace
}  // namespace sidestream::couple
