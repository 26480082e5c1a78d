#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sidestream/core/error.hpp"
#include "sims/steered_run.hpp"

namespace sidestream::sims {
namespace {

using couple::SteeringDesk;
using nlohmann::json;
using test::is_step;
using test::request;
using test::set_request;
using testing::HasSubstr;

class SteeringTest : public testing::Test, public test::SteeredRun {};

const std::string sod =
    "simulation = \"sod\"\n[mesh]\ncells = [32, 8, 8]\nblock = 8\n[sod]\nend = 0.2\n[output]\ncheckpoint = { every = "
    "100, keep = 0 }\n";

std::string with_steps(const std::string& text, int steps) {
  return text + "[run]\nmax_steps = " + std::to_string(steps) + "\n";
}

TEST_F(SteeringTest, AKnobThatIsSetCountsFromTheStepAfter) {
  run(with_steps(sod, 6), "plain");
  run(with_steps(sod, 6), "set", [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 1)) return;
    EXPECT_TRUE(desk.answer(set_request("hydro.cfl", "0.25", 3)).at("ok"));
  });

  auto plain = steps("plain"), set = steps("set");
  EXPECT_EQ(plain[3].at("dt"), set[3].at("dt"));
  EXPECT_EQ(set[4].at("dt").get<double>(), 0.5 * plain[4].at("dt").get<double>());
  const json event = events("set", "steering").at(0);
  EXPECT_EQ(event.at("step"), 3);
  EXPECT_EQ(event.at("old"), 0.5);
  EXPECT_EQ(event.at("value"), 0.25);
  EXPECT_EQ(event.at("who"), "me@here (1)");
  EXPECT_EQ(event.at("why"), "to see");
  EXPECT_TRUE(event.contains("wall"));
}

TEST_F(SteeringTest, ARestartGoesOnWithWhatWasSet) {
  const auto hear = [](SteeringDesk& desk, const std::string& line) {
    if (is_step(line, 1)) desk.answer(set_request("hydro.cfl", 0.25, 2));
  };
  run(with_steps(sod, 8), "whole", hear);
  run(with_steps(sod, 4), "parts", hear);
  run(with_steps(sod, 8), "parts", {}, {io::ExistingRun::resume});

  EXPECT_EQ(steps("whole")[8].at("time"), steps("parts")[8].at("time"));
  EXPECT_EQ(test::state_bytes((folder / "whole") + "/chk00008.hdf5_chk"),
            test::state_bytes((folder / "parts") + "/chk00008.hdf5_chk"));
  const auto file = io::open_snapshot_file((folder / "parts") + "/chk00008.hdf5_chk");
  EXPECT_THAT(file->description().state.texts.at(io::config_text), HasSubstr("cfl = 0.25"));
}

TEST_F(SteeringTest, ViscosityAndPowerOfAFlowAreGoneOnWithToTheBit) {
  const std::string flow =
      "simulation = \"turbulence\"\n[mesh]\ncells = [16, 16, 16]\nblock = 16\n[turbulence]\nend = "
      "100\n[scalar.dye]\nschmidt = "
      "0.7\namplitude = 1\n[forcing]\nkind = \"stochastic\"\n[output]\ncheckpoint = { every = 100, keep = 0 }\n";
  const auto hear = [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 1)) return;
    EXPECT_TRUE(desk.answer(set_request("turbulence.viscosity", 0.05, 2)).at("ok"));
    EXPECT_TRUE(desk.answer(set_request("forcing.power", 0.7, 2)).at("ok"));
  };
  run(with_steps(flow, 5), "plain");
  run(with_steps(flow, 5), "whole", hear);
  run(with_steps(flow, 3), "parts", hear);
  run(with_steps(flow, 5), "parts", {}, {io::ExistingRun::resume});

  const auto state = [&](const std::string& name) { return test::state_bytes((folder / name) + "/chk00005.hdf5_chk"); };
  EXPECT_NE(state("plain"), state("whole"));
  EXPECT_EQ(state("whole"), state("parts"));
}

TEST_F(SteeringTest, WhatMakesNoSenseIsRefusedBeforeAnyRankSeesIt) {
  run(with_steps(sod, 3), "a", [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 2)) return;
    const auto answer = [&](const json& asked) {
      const json told = desk.answer(asked);
      EXPECT_FALSE(told.at("ok"));
      return told.at("message").get<std::string>() + " " + told.at("hint").get<std::string>();
    };
    EXPECT_THAT(answer(set_request("hydro.clf", 0.3, 3)), HasSubstr("hydro.cfl"));
    EXPECT_THAT(answer(set_request("hydro.cfl", 1.5, 3)), HasSubstr("1"));
    EXPECT_THAT(answer(set_request("hydro.cfl", "fast", 3)), HasSubstr("hydro.cfl"));
    EXPECT_THAT(answer(set_request("hydro.cfl", 0.3, 1)), HasSubstr("past"));
    EXPECT_THAT(answer(set_request("run.wall_time", 5, 3)), HasSubstr("unit"));
    EXPECT_THAT(answer(request("jump")), HasSubstr("jump"));
    EXPECT_THAT(answer(request("set", {{"name", "hydro.cfl"}})), HasSubstr("value"));
    EXPECT_THAT(answer(request("step", {{"count", 0}})), HasSubstr("steps"));
    const json outside{{"cells", {{0, 0, 0}, {33, 8, 8}}}, {"operation", "set"}, {"value", 1.0}};
    EXPECT_THAT(answer(request("edit", {{"name", "pressure"}, {"edit", outside}})), HasSubstr("domain"));
  });

  EXPECT_EQ(events("a", "steering").size(), 0u);
}

TEST_F(SteeringTest, APausedRunTakesTheStepsItIsTold) {
  std::vector<std::string> pauses;
  run(with_steps(sod, 8), "a", [&](SteeringDesk& desk, const std::string& line) {
    if (is_step(line, 1)) desk.answer(request("pause"));
    if (!line.starts_with("paused")) return;
    pauses.push_back(line);
    const json status = desk.answer(request("status"));
    EXPECT_EQ(status.at("state"), "paused");
    EXPECT_EQ(status.at("step"), pauses.size() == 1 ? 1 : 4);
    desk.answer(pauses.size() == 1 ? request("step", {{"count", 3}}) : request("stop"));
  });

  if (world.rank() == 0) {
    EXPECT_THAT(pauses, testing::ElementsAre("paused after step 1", "paused after step 4"));
  }
  EXPECT_EQ(steps("a").rbegin()->first, 4);
  EXPECT_EQ(events("a", "ended_early").at(0).at("by"), "steering");
  EXPECT_TRUE(std::filesystem::exists((folder / "a") + "/chk00004.hdf5_chk"));
}

TEST_F(SteeringTest, ALimitOfTimeEndsAPause) {
  run(sod + "[run]\nwall_time = \"0.3 s\"\n", "a", [&](SteeringDesk& desk, const std::string& line) {
    if (is_step(line, 1)) desk.answer(request("pause"));
  });
  EXPECT_EQ(steps("a").rbegin()->first, 1);
  EXPECT_EQ(events("a", "ended_early").at(0).at("by"), "wall time");
}

TEST_F(SteeringTest, ACheckpointByHandIsOne) {
  run(with_steps("simulation = \"sod\"\n[mesh]\ncells = [32, 8, 8]\nblock = 8\n", 4), "a",
      [](SteeringDesk& desk, const std::string& line) {
        if (is_step(line, 1)) desk.answer(request("checkpoint", {{"at", 2}}));
      });
  EXPECT_EQ(events("a", "checkpoint_committed").at(0).at("step"), 2);
}

TEST_F(SteeringTest, TheLastCheckpointHoldsWhatWasSteeredAfterOneOfItsStep) {
  const std::string text =
      "simulation = \"sod\"\n[mesh]\ncells = [32, 8, 8]\nblock = 8\n[output]\ncheckpoint = { every = 2 }\n";
  run(text, "a", [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 1)) return;
    desk.answer(request("checkpoint", {{"at", 2}}));
    desk.answer(set_request("hydro.cfl", 0.3, 2));
    desk.answer(request("checkpoint", {{"at", 2}}));
    desk.answer(request("checkpoint", {{"at", 2}}));
    desk.answer(set_request("hydro.cfl", 0.25, 2));
    desk.answer(request("stop", {{"at", 2}}));
  });
  std::vector<std::string> heard;
  run(with_steps(text, 3), "a", [&](SteeringDesk&, const std::string& line) { heard.push_back(line); },
      {.existing = io::ExistingRun::resume});

  EXPECT_EQ(events("a", "steering_refused").size(), 1u) << "with nothing new since the one before";
  if (world.rank() == 0) {
    EXPECT_THAT(heard, testing::Contains(HasSubstr("`hydro.cfl` = 0.25")));
  }
}

TEST_F(SteeringTest, WhatIsEditedIsToldAndCountsAsNoError) {
  const std::string refined =
      "simulation = \"sedov\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[amr]\nmax_level = "
      "1\n[refine.shock]\ncriterion "
      "= \"loehner\"\nfields = [\"gas_density\", \"pressure\"]\n[sedov]\nend = 0.02\n[run]\nmax_steps = 4\n";
  run(refined, "a", [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 1)) return;
    const json box{{"cells", {{0, 0, 0}, {4, 4, 2}}}, {"operation", "multiply"}, {"value", 3.0}};
    EXPECT_TRUE(desk.answer(request("edit", {{"name", "gas_density"}, {"edit", box}})).at("ok"));
    const json less{{"cells", {{0, 0, 0}, {4, 4, 2}}}, {"operation", "add"}, {"value", -1000.0}};
    EXPECT_TRUE(desk.answer(request("edit", {{"name", "pressure"}, {"edit", less}})).at("ok"));
  });

  // Ambient gas of density 1 in a unit box: 32 of 4096 cells hold 1/128 of its mass, and twice that comes in.
  EXPECT_DOUBLE_EQ(events("a", "steering").at(0).at("added").at("mass").get<double>(), 2.0 / 128.0);
  EXPECT_THAT(events("a", "steering_refused").at(0).at("message").get<std::string>(), HasSubstr("above 0"));
  EXPECT_LT(events("a", "run_end").at(0).at("mass_error").get<double>(), 1e-13);
}

}  // namespace
}  // namespace sidestream::sims
