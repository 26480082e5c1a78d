#include "sidestream/mesh/derived.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::mesh {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<DerivedQuantity> derived_of(const std::string& toml, bool has_redshift = true) {
  return read_derived(core::parse_toml(toml, "run.toml"), {{"density", "g"}, {"speed", "m/s"}}, has_redshift);
}

std::string error_of(const std::string& toml, bool has_redshift = true) {
  try {
    derived_of(toml, has_redshift);
  } catch (const core::Error& error) {
    return error.what();
  }
  return "nothing";
}

// A row of eight cells: the density is x + 1, the speed 10 x, both made by kernels.
Snapshot eight_cells(int& calls) {
  Snapshot snapshot;
  snapshot.geometry.domain = domain_of({8, 1, 1});
  snapshot.levels = {Layout(snapshot.geometry.domain, {}, {snapshot.geometry.domain}, {0})};
  snapshot.moment.scale_factor = 0.25;
  snapshot.gamma = 1.4;
  snapshot.add_computed({"density", "g"}, [&calls](int, const Box& box, const core::View4<double>& out) {
    ++calls;
    core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = i + 1.0; });
  });
  snapshot.add_computed({"speed", "m/s"}, [](int, const Box& box, const core::View4<double>& out) {
    core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = 10.0 * i; });
  });
  return snapshot;
}

double third_cell(const std::string& expression) {
  int calls = 0;
  Snapshot snapshot = eight_cells(calls);
  for (const DerivedQuantity& one : derived_of("[quantity.q]\nexpression = \"" + expression + "\"\n"))
    one.add_to(snapshot);
  return snapshot.field("q").view(0)(0, 0, 2);
}

TEST(DerivedQuantity, IsWhatItsExpressionSaysInEachCell) {
  EXPECT_EQ(third_cell("density * speed - 1"), 59.0);
  EXPECT_EQ(third_cell("sqrt(density + 1) / 4"), 0.5);
  EXPECT_EQ(third_cell("-speed + redshift"), -17.0);
  EXPECT_EQ(third_cell("scale_factor"), 0.25);
  EXPECT_EQ(third_cell("gamma"), 1.4);
  EXPECT_EQ(third_cell("where(density > 2 and speed < 30, 1, 2)"), 1.0);
  EXPECT_EQ(third_cell("where(density > 3 or not speed == 20, 1, 2)"), 2.0);
  EXPECT_EQ(third_cell("min(density, speed) + max(density, 7)"), 10.0);
  EXPECT_EQ(third_cell("abs(0 - pow(density, 2))"), 9.0);
  EXPECT_EQ(third_cell("log(exp(density))"), std::log(std::exp(3.0)));
  EXPECT_EQ(third_cell("log10(density)"), std::log10(3.0));
}

TEST(DerivedQuantity, MayFollowFromOthersInAnyOrder) {
  int calls = 0;
  Snapshot snapshot = eight_cells(calls);
  for (const DerivedQuantity& one :
       derived_of("[quantity.b]\nexpression = \"2 * a\"\nunit = \"g\"\n[quantity.a]\nexpression = \"density + 1\"\n"))
    one.add_to(snapshot);

  EXPECT_EQ(snapshot.field("b").view(0)(0, 0, 2), 8.0);
  EXPECT_EQ(snapshot.unit("b"), "g");
}

TEST(DerivedQuantity, IsMadeOnlyWhereSomebodyAsks) {
  int calls = 0;
  Snapshot snapshot = eight_cells(calls);
  for (const DerivedQuantity& one : derived_of("[quantity.q]\nexpression = \"density + density\"\n"))
    one.add_to(snapshot);
  EXPECT_EQ(calls, 0);

  snapshot.field("q");

  EXPECT_EQ(calls, 1) << "a quantity that is named twice is made once";
}

TEST(DerivedQuantity, WrongExpressionsAreToldWithTheirPlace) {
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"2 * densty\"\n"),
              AllOf(HasSubstr("no quantity `densty`"), HasSubstr("column 5"), HasSubstr("did you mean `density`?")));
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"2 * gama\"\n"), HasSubstr("did you mean `gamma`?"));
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"redshft\"\n"), HasSubstr("gamma, redshift, scale_factor"));
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"redshft\"\n", false), Not(HasSubstr("scale_factor")));
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"sqr(density)\"\n"), HasSubstr("did you mean `sqrt`?"));
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"sqrt(density, 2)\"\n"), HasSubstr("takes 1 argument, not 2"));
  for (const char* const condition : {"density", "1", "density + 1"})
    EXPECT_THAT(error_of("[quantity.q]\nexpression = \"where(" + std::string(condition) + ", 3, 4)\"\n"),
                HasSubstr("neither true nor false"));
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"max(density > 1, 2)\"\n"), HasSubstr("takes numbers"));
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"density >\"\n"), HasSubstr("ends too early"));
  EXPECT_THAT(error_of("[quantity.q]\nexpresion = \"density\"\n"), HasSubstr("did you mean `expression`?"));
  EXPECT_THAT(error_of("[quantity.q]\nunit = \"g\"\n"), HasSubstr("`expression` is missing"));
  EXPECT_THAT(error_of("[quantity.speed]\nexpression = \"density\"\n"), HasSubstr("is there already"));
  EXPECT_THAT(error_of("[quantity.x]\nexpression = \"density\"\n"), HasSubstr("is there already"));
  EXPECT_THAT(error_of("[quantity.\"a b\"]\nexpression = \"density\"\n"), HasSubstr("no name of a quantity"));
  EXPECT_THAT(error_of("[quantity.a]\nexpression = \"b\"\n[quantity.b]\nexpression = \"a\"\n"),
              HasSubstr("follows from itself"));
  EXPECT_THAT(error_of("[quantity.q]\nexpression = \"density * redshift\"\n", false), HasSubstr("no redshift"));
}

}  // namespace
}  // namespace sidestream::mesh
