#include "sidestream/couple/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "couple/fake_analyses.hpp"
#include "sidestream/core/error.hpp"
#include "support/rejection.hpp"

namespace sidestream::couple {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CouplingConfig read(const std::string& text, core::Node* resolved = nullptr) {
  return read_coupling(core::parse_toml(text, "run.toml"), resolved, test::only_digest());
}

core::Error error_of(const std::string& config) {
  return test::rejection_of(config, [](const std::string& text) { read(text); });
}

TEST(CouplingConfig, EveryKeyIsRead) {
  const CouplingConfig config = read(R"(
    [coupling]
    sidecars = 2
    count = "extra"
    queue = "3 MiB"
    when_full = "drop-newest"
    timeout = "2 min"
    shared_memory = false
    cores = [3, 5]
    [task.sums]
    analysis = "digest"
    transport = "in-transit"
    every = 10
    at_redshift = [3, 2.5])");

  EXPECT_EQ(config.sidecars, 2);
  EXPECT_EQ(config.count, comm::SidecarCount::extra);
  EXPECT_EQ(config.queue_bytes, 3 * 1024 * 1024);
  EXPECT_EQ(config.when_full->name, "drop-newest");
  EXPECT_EQ(config.timeout_s, 120);
  EXPECT_FALSE(config.shares_memory);
  EXPECT_THAT(config.cores, ElementsAre(3, 5));
  ASSERT_EQ(config.tasks.size(), 1);
  EXPECT_EQ(config.tasks[0].name, "sums");
  EXPECT_EQ(config.tasks[0].analysis_name, "digest");
  EXPECT_EQ(config.tasks[0].transport->name, "in-transit");
  EXPECT_EQ(config.tasks[0].trigger.when().every, 10);
  EXPECT_THAT(config.tasks[0].trigger.when().at_redshift, ElementsAre(3, 2.5));
}

TEST(CouplingConfig, ASuiteIsATaskForEachPart) {
  core::Node resolved;
  const std::string text = "[task.igm]\nanalysis = \"gimlet\"\nat_redshift = [3]\n[task.igm.flux]\nmean_flux = \"0.7\"";

  const CouplingConfig config =
      read_coupling(core::parse_toml(text, "run.toml"), &resolved, analysis::analyses(), {.has_redshift = true});

  ASSERT_EQ(config.tasks.size(), 7);
  EXPECT_EQ(config.tasks.front().name, "igm_flux");
  EXPECT_EQ(config.tasks.front().analysis_name, "flux");
  EXPECT_THAT(config.tasks.front().parameters, HasSubstr("mean_flux = \"0.7\""));
  EXPECT_THAT(config.tasks.back().trigger.when().at_redshift, ElementsAre(3));
  const CouplingConfig again = read_coupling(resolved, nullptr, analysis::analyses(), {.has_redshift = true});
  ASSERT_EQ(again.tasks.size(), 7);
  EXPECT_EQ(again.tasks.back().parameters, config.tasks.back().parameters);
}

TEST(CouplingConfig, WithoutTablesThereIsNothingToDo) {
  const CouplingConfig config = read("");

  EXPECT_EQ(config.sidecars, 0);
  EXPECT_EQ(config.when_full->name, "block");
  EXPECT_TRUE(config.tasks.empty());
}

TEST(CouplingConfig, ACoreIsAWholeNumber) {
  for (const std::string number : {"1.5", "-1", "1e30"}) {
    const core::Error error = error_of("[coupling]\ncores = [0, " + number + "]");
    EXPECT_THAT(error.where(), HasSubstr("coupling.cores")) << number;
  }
}

TEST(CouplingConfig, ATaskIsInSituUnlessItSaysOtherwise) {
  const CouplingConfig config = read("[task.sums]\nanalysis = \"digest\"\nevery = 1");

  EXPECT_EQ(config.tasks[0].transport->name, "in-situ");
}

TEST(CouplingConfig, TheResolvedTablesHoldEveryDefault) {
  core::Node resolved;
  read("[task.sums]\nanalysis = \"digest\"\nevery = 1", &resolved);

  EXPECT_EQ(resolved.find("coupling")->find("when_full")->text(), "block");
  const core::Node& task = *resolved.find("task")->find("sums");
  EXPECT_EQ(task.find("transport")->text(), "in-situ");
  EXPECT_EQ(task.find("scale")->number(), 1.0);
  EXPECT_EQ(read(core::to_toml(resolved)).tasks[0].parameters, "scale = 1.0\n");
}

TEST(CouplingConfig, AnUnknownTransportIsAnsweredWithThoseThereAre) {
  const core::Error error = error_of("[task.a]\nanalysis = \"digest\"\nevery = 1\ntransport = \"telepathy\"");

  EXPECT_THAT(error.where(), HasSubstr("run.toml:4"));
  EXPECT_THAT(std::string(error.what()), HasSubstr("in-situ"));
  EXPECT_THAT(std::string(error.what()), HasSubstr("in-transit"));
}

TEST(CouplingConfig, AMistypedKeyNamesTheNearest) {
  EXPECT_THAT(std::string(error_of("[task.a]\nanalysis = \"digest\"\nevry = 1").what()), HasSubstr("`every`"));
  EXPECT_THAT(std::string(error_of("[coupling]\nsidecar = 1").what()), HasSubstr("`sidecars`"));
}

TEST(CouplingConfig, ATaskThatIsNeverDueIsRefused) {
  EXPECT_EQ(error_of("[task.a]\nanalysis = \"digest\"").message(), "the task is never due");
  EXPECT_EQ(error_of("[task.a]\nanalysis = \"digest\"\nat_redshift = []").message(), "the task is never due");
  EXPECT_THAT(error_of("[task.a]\nanalysis = \"digest\"\nevery = -1").message(), HasSubstr("at least 0"));
}

std::string isolated(const std::string& more) {
  return "[task.a]\nanalysis = \"digest\"\nevery = 1\nisolate = true\n" + more;
}

TEST(CouplingConfig, AnIsolatedTaskHasADeadlineAndNeedsNoThreads) {
  const CouplingConfig config = read(isolated("transport = \"async\"\nmemory_limit = \"2 KiB\""));

  ASSERT_TRUE(config.tasks[0].isolation);
  EXPECT_EQ(config.tasks[0].isolation->deadline_s, 3600.0);  // that of the coupling
  EXPECT_EQ(config.tasks[0].isolation->memory_bytes, 2048.0);
  EXPECT_TRUE(config.uses_queue());
  EXPECT_FALSE(config.uses_threads());
  EXPECT_EQ(read(isolated("deadline = \"2 min\"")).tasks[0].isolation->deadline_s, 120.0);
}

TEST(CouplingConfig, WhatWouldNotBeIsolatedIsRefused) {
  EXPECT_THAT(error_of(isolated("transport = \"file\"")).message(), HasSubstr("\"file\" is no job of its own"));
  EXPECT_THAT(error_of(isolated("transport = \"in-transit\"\n[coupling]\nsidecars = 1")).hint(), HasSubstr("async"));
  EXPECT_THAT(error_of(isolated("[coupling]\nwhen_full = \"in-situ\"")).where(), HasSubstr("coupling.when_full"));
  EXPECT_THAT(error_of(isolated("deadline = \"0 s\"")).where(), HasSubstr("task.a.deadline"));
}

TEST(CouplingConfig, TransitWithoutSidecarsIsRefused) {
  const core::Error error = error_of("[task.a]\nanalysis = \"digest\"\nevery = 1\ntransport = \"in-transit\"");

  EXPECT_EQ(error.message(), "the task `a` is in-transit, but there are no sidecars");
  EXPECT_THAT(error.hint(), HasSubstr("coupling.sidecars"));
}

TEST(CouplingConfig, ANameThatIsNoFolderIsRefused) {
  EXPECT_THAT(error_of("[task.\"../a\"]\nanalysis = \"digest\"\nevery = 1").message(), HasSubstr("cannot be called"));
}

TEST(CouplingConfig, SidecarsWithoutATaskInTransitComputeLikeTheOthers) {
  const CouplingConfig config = read("[coupling]\nsidecars = 1\n[task.a]\nanalysis = \"digest\"\nevery = 1");

  EXPECT_EQ(config.sidecars_used(), 0);
  EXPECT_EQ(plan_ranks(1, config), (comm::RankCounts{1, 1, 0}));
}

CouplingConfig in_transit(const std::string& coupling) {
  return read("[coupling]\n" + coupling + "\n[task.a]\nanalysis = \"digest\"\nevery = 1\ntransport = \"in-transit\"");
}

TEST(CouplingConfig, RanksArePlannedByTheCount) {
  EXPECT_EQ(plan_ranks(4, in_transit("sidecars = 1")), (comm::RankCounts{4, 3, 1}));
  EXPECT_EQ(plan_ranks(4, in_transit("sidecars = 1\ncount = \"extra\"")), (comm::RankCounts{5, 4, 1}));
  EXPECT_THROW(plan_ranks(1, in_transit("sidecars = 1")), core::Error);
}

Expected expected(std::int32_t cells, double particle_bytes = 0.0) {
  return {{{"", {mesh::domain_of({cells, 1, 1}), {{"density", "1"}, {"temperature", "K"}}}}},
          {{"", {{"dark_matter", {}, particle_bytes}, {"stars", {}, 0.5 * particle_bytes}}}}};
}

TEST(CouplingConfig, APublishThatCouldNeverFitIsRefusedBeforehand) {
  const CouplingConfig config = in_transit("sidecars = 1\nqueue = \"1 MiB\"");

  EXPECT_NO_THROW(check_queue(config, expected(65536)));  // two fields of half a MiB
  EXPECT_THROW(check_queue(config, expected(65537)), core::Error);
}

TEST(CouplingConfig, TheParticlesCountForTasksThatReadThem) {
  CouplingConfig config = in_transit("sidecars = 1\nqueue = \"1 MiB\"");

  EXPECT_NO_THROW(check_queue(config, expected(65536, 1e9)));
  config.tasks.front().analysis = std::make_shared<test::ParticleSums>();
  EXPECT_NO_THROW(check_queue(config, expected(65536, 1024 * 1024)));
  EXPECT_THROW(check_queue(config, expected(65536, 1024 * 1024 + 8)), core::Error);
  config.tasks.front().analysis = std::make_shared<test::ParticleSums>(std::vector<std::string>{}, "stars");
  EXPECT_NO_THROW(check_queue(config, expected(65536, 2 * 1024 * 1024)));
}

TEST(CouplingConfig, ASpeciesThatThereIsNotIsRefusedWithThoseThatThereAre) {
  CouplingConfig config = in_transit("sidecars = 1");
  config.tasks.front().analysis = std::make_shared<test::ParticleSums>(std::vector<std::string>{}, "star");

  try {
    check_tasks(config, expected(8));
    ADD_FAILURE() << "accepted";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("species `star`"));
    EXPECT_THAT(error.hint(), HasSubstr("dark_matter, stars"));
  }
}

TEST(CouplingConfig, ATaskThatLooksBackCannotChangeSides) {
  const auto read_counter = [](const std::string& transport, const std::string& when_full) {
    return read_coupling(
        core::parse_toml("[coupling]\nsidecars = 1\nwhen_full = \"" + when_full +
                             "\"\n[task.links]\nanalysis = \"counter\"\nevery = 1\ntransport = \"" + transport + "\"",
                         "run.toml"),
        nullptr, test::only_counter());
  };

  EXPECT_NO_THROW(read_counter("in-transit", "drop-newest"));
  EXPECT_NO_THROW(read_counter("in-situ", "in-situ"));
  EXPECT_THROW(read_counter("async", "in-situ"), core::Error);
  try {
    read_counter("in-transit", "in-situ");
    ADD_FAILURE() << "accepted";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("`links`"));
    EXPECT_THAT(error.where(), HasSubstr("run.toml:3"));
    EXPECT_THAT(error.where(), HasSubstr("coupling.when_full"));
    EXPECT_THAT(error.hint(), HasSubstr("block"));
  }
}

TEST(CouplingConfig, ToStoreWhatFindsNoRoomThereMustBeAFolder) {
  const core::Error error = error_of("[coupling]\nwhen_full = \"spill\"");

  EXPECT_THAT(error.hint(), HasSubstr("coupling.spill"));
  EXPECT_EQ(read("[coupling]\nwhen_full = \"spill\"\nspill = \"/scratch\"").spill, "/scratch");
}

TEST(CouplingConfig, AFieldThatASimulationDoesNotHaveIsNamedBeforehand) {
  const CouplingConfig config = in_transit("sidecars = 1");
  Expected too_few = expected(8);
  too_few.grids.at("").quantities.pop_back();

  EXPECT_NO_THROW(check_tasks(config, expected(8)));
  try {
    check_tasks(config, too_few);
    ADD_FAILURE() << "accepted";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("`temperature`"));
    EXPECT_THAT(error.where(), HasSubstr("run.toml:"));
  }
}

}  // namespace
}  // namespace sidestream::couple
