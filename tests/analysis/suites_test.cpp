// Tasks that stand for several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

core::Node::Members parts_of(const std::string& toml) {
  return with_parts(*core::parse_toml(toml, "run.toml").find("task"));
}

std::string message_of(const std::string& toml) {
  try {
    parts_of(toml);
  } catch (const core::Error& error) {
    return std::string(error.what());
  }
  return "nothing was thrown";
}

TEST(Suites, StandForATaskForEachPart) {
  const auto tasks = parts_of(
      "[task.halos]\nanalysis = 'halos'\nevery = 1\n[task.igm]\nanalysis = 'gimlet'\nevery = 3\n"
      "transport = 'async'\n[task.igm.flux]\nmean_flux = '0.7'\n[task.igm.skewers]\nevery = 9");

  std::vector<std::string> names;
  for (const auto& [name, task] : tasks) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("halos", "igm_flux", "igm_skewers", "igm_pdf", "igm_hydrogen_pdf",
                                 "igm_temperature_pdf", "igm_phase", "igm_power"));
  EXPECT_EQ(tasks[1].second.find("mean_flux")->text(), "0.7");
  EXPECT_EQ(tasks[1].second.find("transport")->text(), "async");
  EXPECT_EQ(tasks[2].second.find("every")->integer(), 9);
  EXPECT_EQ(tasks[7].second.find("every")->integer(), 3);
}

TEST(Suites, HavePartsThatAreAnalyses) {
  for (const Suite& suite : suites()) {
    EXPECT_THAT(analyses().names(), testing::Not(testing::Contains(suite.name)));
    for (const auto& [name, task] : parts_of("[task.all]\nanalysis = '" + suite.name + "'"))
      EXPECT_NO_THROW(analyses().chosen(task, "analysis").make(task, nullptr)) << name;
  }
}

TEST(Suites, RefuseWhatTheirPartsDoNotKnow) {
  const std::string gimlet = "[task.igm]\nanalysis = 'gimlet'\n";
  EXPECT_THAT(message_of(gimlet + "mean_flux = '0.7'"), HasSubstr("the suite `gimlet` has no part `mean_flux`"));
  EXPECT_THAT(message_of(gimlet + "mean_flux = '0.7'"), HasSubstr("run.toml:3"));
  EXPECT_THAT(message_of(gimlet + "flux = 3"), HasSubstr("task.igm.flux"));
  EXPECT_THAT(message_of(gimlet + "[task.igm_phase]\nanalysis = 'phase'"),
              HasSubstr("two tasks are called `igm_phase`"));
}

TEST(Suites, SayWhereAKeyOfAPartIsWrong) {
  const auto tasks = parts_of("[task.igm]\nanalysis = 'gimlet'\n[task.igm.flux]\nmean_fluks = '0.7'");
  try {
    analyses().chosen(tasks.front().second, "analysis").make(tasks.front().second, nullptr);
    FAIL() << "accepted";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("task.igm.flux.mean_fluks"));
  }
}

}  // namespace
}  // namespace sidestream::analysis
