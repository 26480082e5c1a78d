#include "sidestream/couple/condition.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "couple/session_fixture.hpp"
#include "sidestream/mesh/derived.hpp"

namespace sidestream::couple {
namespace {

using testing::HasSubstr;

bool holds(const std::string& text, const mesh::Snapshot& snapshot, double time_unit = 1.0) {
  const comm::Communicator world(MPI_COMM_WORLD);
  PresentState state(
      world, snapshot.moment, [&]() -> const mesh::Snapshot& { return snapshot; }, time_unit);
  return Condition(core::Node(text, "when")).holds(state);
}

bool is_true(const std::string& text) {
  mesh::Snapshot snapshot;
  snapshot.moment = {.step = 7, .time = 3.0, .scale_factor = 0.25};
  return holds(text, snapshot, 0.5);
}

core::Error error_of(const std::string& text) {
  try {
    Condition(core::Node(text, "task.a.when", "run.toml:5:8"));
  } catch (const core::Error& error) {
    return error;
  }
  return core::Error("accepted", "", "");
}

TEST(Condition, ArithmeticBindsAsOnPaper) {
  EXPECT_TRUE(is_true("1 + 2 * 3 == 7"));
  EXPECT_TRUE(is_true("(1 + 2) * 3 == 9"));
  EXPECT_TRUE(is_true("8 - 4 - 2 == 2"));
  EXPECT_TRUE(is_true("8 / 4 / 2 == 1"));
  EXPECT_TRUE(is_true("-2 * -3 == 6"));
  EXPECT_TRUE(is_true("2 - -3 == 5"));
  EXPECT_TRUE(is_true("1.5e3 == 1500"));
  EXPECT_TRUE(is_true(".5<1"));
  EXPECT_TRUE(is_true("1 / 0 > 1e300"));
}

TEST(Condition, ComparesAndJoins) {
  EXPECT_TRUE(is_true("1 < 2"));
  EXPECT_FALSE(is_true("2 <= 1"));
  EXPECT_TRUE(is_true("2 >= 2 and 1 != 2"));
  EXPECT_TRUE(is_true("1 > 2 or 3 > 2 and 2 > 1"));
  EXPECT_FALSE(is_true("(1 > 2 or 3 > 2) and 1 > 2"));
  EXPECT_TRUE(is_true("not 1 > 2 and not not 2 > 1"));
  EXPECT_TRUE(is_true("not (1 > 2 and 2 > 1)"));
}

TEST(Condition, HasReductionsThatExpressionsOfQuantitiesRefuseByName) {
  for (const Reduction& reduction : reductions()) {
    try {
      mesh::DerivedQuantity({"q", "1"}, core::Node(reduction.name + "(density)", "expression"));
      ADD_FAILURE() << reduction.name;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.hint(), HasSubstr("reductions are for conditions")) << reduction.name;
    }
  }
}

TEST(Condition, KnowsTheMoment) {
  EXPECT_TRUE(is_true("step == 7"));
  EXPECT_TRUE(is_true("time == 6"));
  EXPECT_TRUE(is_true("redshift == 3"));
}

TEST(Condition, WhatDecidesNothingIsNotLookedAt) {
  mesh::Snapshot snapshot;
  snapshot.moment.step = 3;
  snapshot.add({"dear", ""}, [](int) -> std::shared_ptr<const mesh::Field<double>> { throw core::Error("looked at"); });

  EXPECT_FALSE(holds("step > 10 and max(dear) > 1", snapshot));
  EXPECT_TRUE(holds("step > 2 or max(dear) > 1", snapshot));
}

TEST(Condition, ReductionsAreThoseOfTheWholeMesh) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const mesh::Snapshot snapshot = snapshot_of(world, 2);
  // (8 * global index + 2) / 3 in each of 16^3 cells; the index counts from 0.
  const double last = (8.0 * 4095.0 + 2.0) / 3.0;
  core::ExactSum sum;
  for (int i = 0; i < 4096; ++i) sum.add((8.0 * static_cast<double>(i) + 2.0) / 3.0);

  EXPECT_TRUE(holds("min(density) == " + fmt::format("{}", 2.0 / 3.0), snapshot));
  EXPECT_TRUE(holds("max(density) == " + fmt::format("{}", last), snapshot));
  EXPECT_TRUE(holds("sum(density) == " + fmt::format("{}", sum.value()), snapshot));
  EXPECT_TRUE(holds("mean(density) == " + fmt::format("{}", sum.value() / 4096.0), snapshot));
  EXPECT_TRUE(holds("max( temperature ) < min(density)", snapshot));
}

TEST(Condition, CellsOfARefinedMeshCountByTheirVolume) {
  const comm::Communicator world(MPI_COMM_WORLD);
  mesh::Snapshot snapshot = refined_snapshot_of(world, 2);
  std::vector<mesh::Field<double>> ones;
  for (const mesh::Layout& layout : snapshot.levels) {
    ones.emplace_back(layout, world.rank());
    for (double& value : ones.back().all()) value = 1.0;
  }
  snapshot.add({"one", ""}, std::move(ones));

  EXPECT_GT(snapshot.finest_level(), 0);
  EXPECT_TRUE(holds("sum(one) == 4096 and mean(one) == 1", snapshot));
}

TEST(Condition, WhatIsNoExpressionIsToldWithItsColumn) {
  const core::Error error = error_of("max(density) >> 3");

  EXPECT_EQ(error.where(), "run.toml:5:8, key `task.a.when`, column 15 of `max(density) >> 3`");
  EXPECT_THAT(error_of("").message(), HasSubstr("ends too early"));
  EXPECT_THAT(error_of("1 <").message(), HasSubstr("ends too early"));
  EXPECT_THAT(error_of("(1 < 2").message(), HasSubstr("`)` is missing"));
  EXPECT_THAT(error_of("1 < 2)").where(), HasSubstr("column 6"));
  EXPECT_THAT(error_of("step = 3").hint(), HasSubstr("`==`"));
  EXPECT_THAT(error_of("step > 3 && time > 2").hint(), HasSubstr("`and`"));
  EXPECT_THAT(error_of("1 < 1e999").message(), HasSubstr("no number"));
  EXPECT_THAT(error_of("1 < nan").message(), HasSubstr("no variable `nan`"));
}

TEST(Condition, TruthAndNumbersAreNotMixed) {
  EXPECT_THAT(error_of("max(density)").message(), HasSubstr("neither true nor false"));
  EXPECT_THAT(error_of("step and time > 2").message(), HasSubstr("neither true nor false"));
  EXPECT_THAT(error_of("not step").message(), HasSubstr("neither true nor false"));
  EXPECT_THAT(error_of("1 < step < 5").hint(), HasSubstr("`and`"));
  EXPECT_THAT(error_of("(step > 2) + 1 > 0").message(), HasSubstr("`+` takes numbers"));
}

TEST(Condition, NamesAreOfferedForWrongOnes) {
  EXPECT_THAT(error_of("maxx(density) > 1").hint(), HasSubstr("did you mean `max`?"));
  EXPECT_THAT(error_of("tme > 1").hint(), HasSubstr("did you mean `time`?"));
  EXPECT_THAT(error_of("density > 1").hint(), HasSubstr("`max(density)`"));
  EXPECT_THAT(error_of("max() > 1").message(), HasSubstr("the name of one quantity"));
  EXPECT_THAT(error_of("max(density * 2) > 1").message(), HasSubstr("the name of one quantity"));
}

TEST(Condition, NoTextIsTooDeepForTheStack) {
  EXPECT_THAT(error_of(std::string(400, '(') + "1 < 2" + std::string(400, ')')).message(), HasSubstr("too deeply"));
  EXPECT_THAT(error_of(std::string(100000, '(')).message(), HasSubstr("too long"));
  EXPECT_LT(error_of(std::string(100000, '(')).where().size(), 500U);
}

TEST(Condition, ChecksItsQuantitiesBeforeARun) {
  const Condition condition(core::Node("max(densty) > 1 and redshift < 3", "when", "run.toml:5:8"));
  const std::vector<std::string> there{"density", "pressure"}, slip{"densty"};

  EXPECT_NO_THROW(condition.check(slip, true));
  EXPECT_THROW(condition.check(slip, false), core::Error);
  try {
    condition.check(there, true);
    ADD_FAILURE() << "accepted";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message(), "there is no quantity `densty`");
    EXPECT_THAT(error.where(), HasSubstr("column 5"));
    EXPECT_THAT(error.hint(), HasSubstr("did you mean `density`?"));
  }
}

}  // namespace
}  // namespace sidestream::couple
