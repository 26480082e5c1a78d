#include "sidestream/core/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidestream::core {
namespace {

using testing::HasSubstr;

struct Sample {
  double cfl = 0;
  std::int64_t steps = 0;
  std::string solver;
  std::array<std::int32_t, 3> cells{};
  std::optional<double> limit;
};

Table<Sample> sample_table() {
  Table<Sample> table("A sample");
  table.option("cfl", &Sample::cfl, 0.4).range(0.0, 1.0).doc("Courant number");
  table.option("steps", &Sample::steps, 10).at_least(0);
  table.option("solver", &Sample::solver, "two-shock").one_of({"two-shock", "hllc"});
  table.option("cells", &Sample::cells, {8, 8, 8}).at_least(1);
  table.option("limit", &Sample::limit, std::nullopt).in(wall_time_units());
  return table;
}

Error error_of(const std::string& text) {
  try {
    sample_table().read(parse_toml(text, "run.toml"));
  } catch (const Error& error) {
    return error;
  }
  return Error("no error");
}

TEST(Config, DefaultsStandWhereKeysAreMissing) {
  const Sample sample = sample_table().read(parse_toml("steps = 3", "run.toml"));
  EXPECT_EQ(sample.cfl, 0.4);
  EXPECT_EQ(sample.steps, 3);
  EXPECT_EQ(sample.solver, "two-shock");
  EXPECT_FALSE(sample.limit.has_value());
}

TEST(Config, EveryKindOfValueIsRead) {
  const Sample sample =
      sample_table().read(parse_toml("cfl = 0.25\nsolver = \"hllc\"\ncells = [4, 5, 6]\nlimit = \"2 h\"", "run.toml"));
  EXPECT_EQ(sample.cfl, 0.25);
  EXPECT_EQ(sample.solver, "hllc");
  EXPECT_EQ(sample.cells, (std::array<std::int32_t, 3>{4, 5, 6}));
  EXPECT_EQ(sample.limit, 7200.0);
}

TEST(Config, AnUnknownKeyIsRefusedWithPlaceAndNearestName) {
  const Error error = error_of("steps = 1\n  clf = 0.5");
  EXPECT_THAT(error.message(), HasSubstr("`clf`"));
  EXPECT_THAT(error.where(), HasSubstr("run.toml:2"));
  EXPECT_THAT(error.hint(), HasSubstr("`cfl`"));
}

TEST(Config, AnUnknownChoiceNamesTheNearest) {
  const Error error = error_of("solver = \"hlcc\"");
  EXPECT_THAT(error.hint(), HasSubstr("\"hllc\""));
}

TEST(Config, TheBeginningOfOneNameNamesIt) {
  EXPECT_THAT(error_of("solver = \"two\"").hint(), HasSubstr("did you mean \"two-shock\"?"));
  const std::vector<std::string> names{"automatic", "engine", "autumn"};
  EXPECT_EQ(nearest_name("automat", names), "automatic");
  EXPECT_EQ(nearest_name("engi", names), "engine");
  EXPECT_EQ(nearest_name("xy", names), "");
}

TEST(Config, AValueOutOfBoundsIsRefused) {
  EXPECT_THAT(error_of("cfl = 1.5").message(), HasSubstr("between 0 and 1"));
  EXPECT_THAT(error_of("cells = [4, 0, 4]").message(), HasSubstr("at least 1"));
  EXPECT_THAT(error_of("cfl = nan").message(), HasSubstr("not a finite"));
}

TEST(Config, AValueOfTheWrongKindIsRefused) {
  EXPECT_THAT(error_of("cfl = \"fast\"").message(), HasSubstr("must be a number"));
  EXPECT_THAT(error_of("cells = [4, 4]").message(), HasSubstr("takes 3"));
  EXPECT_THAT(error_of("steps = 1.5").message(), HasSubstr("whole number"));
}

TEST(Config, AMissingOrWrongUnitIsRefused) {
  EXPECT_THAT(error_of("limit = 2").message(), HasSubstr("has no unit"));
  EXPECT_THAT(error_of("limit = \"2 parsec\"").message(), HasSubstr("parsec"));
  EXPECT_THAT(error_of("limit = \"two h\"").message(), HasSubstr("does not begin with a number"));
}

TEST(Config, WhatIsNotTomlIsRefusedWithItsLine) {
  const Error error = error_of("steps = 1\ncfl = = 2\n");
  EXPECT_THAT(error.where(), HasSubstr("run.toml:2"));
}

TEST(Config, WhatIsNoTextIsRefusedWithItsLine) {
  for (const char* value : {"\"\xff\"", "'\xff'", "'''\xff\xff\xff\xff'''", "1 # \xff"}) {
    const Error error = error_of(std::string("steps = 1\ncfl = ") + value + "\n");
    EXPECT_THAT(error.message(), HasSubstr("0xff"));
    EXPECT_THAT(error.where(), HasSubstr("run.toml:2"));
  }
}

TEST(Config, WhatIsNestedTooDeepIsRefusedWithItsLine) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  Node root = parse_toml("", "run.toml");

  for (const std::string& deep : {"a = " + repeated("[", 100000) + repeated("]", 100000),
                                  "a = " + repeated("{b = ", 100000) + "1" + repeated("}", 100000),
                                  "[" + repeated("a.", 100000) + "a]\n", repeated("a.", 100000) + "a = 1"})
    EXPECT_THAT(error_of("steps = 1\n" + deep).where(), HasSubstr("run.toml:2")) << deep.substr(0, 20);
  EXPECT_THROW(override_key(root, repeated("a.", 100000) + "a=1"), Error);
}

TEST(Config, ANameThatNoFileCanHaveIsRefused) {
  Node root = parse_toml("", "run.toml");
  for (const std::string written : {"[task.", "[quantity.", "[tracers."}) {
    EXPECT_NO_THROW(parse_toml(written + std::string(128, 'a') + "]", "run.toml"));
    EXPECT_THAT(error_of(written + std::string(129, 'a') + "]").message(), HasSubstr("has 129 bytes"));
  }
  EXPECT_THROW(override_key(root, "task." + std::string(129, 'a') + ".every=1"), Error);
}

TEST(Config, BracketsAndDotsInTextNestNothing) {
  const std::string many(1000, '['), dots(1000, '.');

  const Node root = parse_toml("a = \"" + many + dots + "\\\"" + many + "\" # " + many + "\nb = '" + many +
                                   "'\nc = \"\"\"\n" + many + "\n\"" + many + "\"\"\"\nd = [[1], [2]]\n",
                               "run.toml");

  EXPECT_EQ(root.find("b")->text(), many);
  EXPECT_EQ(root.find("d")->elements().size(), 2u);
}

TEST(Config, AnOverrideReachesNestedTablesAndMakesThem) {
  Node root = parse_toml("[task.halos]\nevery = 10\n", "run.toml");

  override_key(root, "task.halos.every=5");
  override_key(root, "task.pdf.transport=in-situ");

  EXPECT_EQ(root.find("task")->find("halos")->find("every")->integer(), 5);
  EXPECT_EQ(root.find("task")->find("pdf")->find("transport")->text(), "in-situ");
}

TEST(Config, WhatIsInAnOverrideKnowsItsKey) {
  Node root = parse_toml("", "run.toml");

  override_key(root, "task.s.at_time=[1.0, 'soon']");
  override_key(root, "output={ plotfile = { every = 'often' } }");

  EXPECT_THAT(root.find("task")->find("s")->find("at_time")->elements()[1].where(), HasSubstr("key `task.s.at_time`"));
  EXPECT_THAT(root.find("output")->find("plotfile")->find("every")->where(), HasSubstr("key `output.plotfile.every`"));
}

TEST(Config, AnOverrideThroughAValueThatIsNoTableIsRefused) {
  Node root = parse_toml("steps = 1", "run.toml");
  EXPECT_THROW(override_key(root, "steps.more=1"), Error);
  EXPECT_THROW(override_key(root, "steps"), Error);
}

TEST(Config, WrittenTomlReadsBackTheSame) {
  const std::string text = "a = 1\nb = [1.5, 2.0]\nc = \"x \\\"y\\\"\"\n\n[t]\nd = true\n\n[t.u]\ne = 0.1\n";
  EXPECT_EQ(to_toml(parse_toml(text, "run.toml")), text);
}

TEST(Config, CharactersThatControlATerminalAreWrittenSoThatTheyCanBeRead) {
  const Node root = parse_toml("a = \"\\u0000\\u001b\\t\\u007f\"\n\"\\u0001\" = 1", "a.toml");

  const Node again = parse_toml(to_toml(root), "b.toml");

  EXPECT_EQ(again.find("a")->text(), std::string("\0\x1b\t\x7f", 4));
  EXPECT_EQ(again.find("\x01")->integer(), 1);
}

TEST(Config, AMessageAboutALongOverrideHasItsBeginning) {
  Node root;
  std::string umlauts;
  for (int n = 0; n < 1000; ++n) umlauts += "ü";

  override_key(root, "word=\"a" + umlauts + "\"");

  const std::string where = root.find("word")->where();
  EXPECT_TRUE(where.starts_with("--set word=\"aüü"));
  EXPECT_THAT(where, HasSubstr("ü..., key `word`"));
  EXPECT_LT(where.size(), 400U);
}

TEST(Config, AnOverrideThatIsNoTextIsRefused) {
  Node root;

  EXPECT_THROW(override_key(root, "a=\xe5"), Error);
  EXPECT_THROW(override_key(root, "a\xff=1"), Error);
  EXPECT_NO_THROW(override_key(root, "a=\"ü\""));
}

TEST(Config, TheResolvedTableHoldsTheDefaults) {
  Node resolved;
  sample_table().read(parse_toml("steps = 3", "run.toml"), &resolved);
  EXPECT_EQ(resolved.find("cfl")->number(), 0.4);
  EXPECT_EQ(resolved.find("steps")->integer(), 3);
  EXPECT_EQ(resolved.find("limit"), nullptr);
}

TEST(Config, AMissingFileIsNamed) {
  try {
    load_toml("/no/such/file.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.where(), HasSubstr("/no/such/file.toml"));
  }
}

}  // namespace
}  // namespace sidestream::core
