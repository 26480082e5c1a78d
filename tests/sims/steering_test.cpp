#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "sidestream/core/error.hpp"
#include "sims/steered_run.hpp"
#include "support/slow_tier.hpp"

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

const std::string sphere =
    "simulation = \"hydrostatic_sphere\"\n[mesh]\ncells = [24, 24, 24]\nblock = 8\n[amr]\nmax_level = 1\nbuffer = "
    "0\n[refine.core]\ncriterion = \"region\"\nlower = [4, 4, 4]\nupper = [8, 8, 8]\nmax_level = 1\n";
const std::string dyed_flow =
    "simulation = \"turbulence\"\n[mesh]\ncells = [16, 16, 16]\nblock = 16\n[turbulence]\nend = "
    "100\ndealiasing = \"phase-shift\"\n[scalar.dye]\nschmidt = 0.7\n";
const std::string checkpoints = "[output]\ncheckpoint = { every = 100, keep = 0 }\n";

// A word, a flag and a vector: what a knob says, and how the configuration says the same.
struct Setting {
  std::string run, knob;
  json value;
  std::string configured;

  friend std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << setting.knob; }
};

class SettingTest : public SteeringTest, public testing::WithParamInterface<Setting> {};

TEST_P(SettingTest, BeforeTheFirstStepIsAsConfiguredAndLaterIsGoneOnWithAndReplayed) {
  const auto& [text, knob, value, configured] = GetParam();
  const auto set_at = [&](std::int64_t step) {
    return [&, step](SteeringDesk& desk, const std::string& line) {
      if (is_step(line, 0)) {
        EXPECT_TRUE(desk.answer(set_request(knob, value, step)).at("ok"));
      }
    };
  };
  run(with_steps(text + checkpoints, 4), "plain");
  run(with_steps(configured + checkpoints, 4), "configured");
  run(with_steps(text + checkpoints, 4), "at_start", set_at(0));
  run(with_steps(text + checkpoints, 4), "later", set_at(1));
  run(with_steps(text + checkpoints, 2), "parts", set_at(1));
  run(with_steps(text + checkpoints, 4), "parts", {}, {io::ExistingRun::resume});
  run(with_steps(text + checkpoints, 4), "again", {}, {.replay = (folder / "later") + "/events.jsonl"});

  const auto state = [&](const std::string& name) { return test::state_bytes((folder / name) + "/chk00004.hdf5_chk"); };
  EXPECT_EQ(state("at_start"), state("configured"));
  EXPECT_NE(state("at_start"), state("plain"));
  EXPECT_NE(state("later"), state("plain"));
  EXPECT_NE(state("later"), state("at_start"));
  EXPECT_EQ(state("later"), state("parts"));
  EXPECT_EQ(state("later"), state("again"));
}

INSTANTIATE_TEST_SUITE_P(
    Each, SettingTest,
    testing::Values(Setting{"simulation = \"sod\"\n[mesh]\ncells = [32, 8, 8]\nblock = 8\n", "hydro.riemann", "hllc",
                            "simulation = \"sod\"\n[mesh]\ncells = [32, 8, 8]\nblock = 8\n[hydro]\nriemann = "
                            "\"hllc\"\n"},
                    Setting{sphere, "amr.subcycle", false,
                            std::string(sphere).replace(sphere.find("buffer"), 0, "subcycle = false\n")},
                    Setting{dyed_flow,
                            "scalar.dye.mean_gradient",
                            {0.0, 1.0, 0.5},
                            dyed_flow + "mean_gradient = [0.0, 1.0, 0.5]\n"}));

TEST_F(SteeringTest, AWordThatThereIsNotIsAnsweredWithTheNearest) {
  run(with_steps(dyed_flow, 1), "flow", [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 0)) return;
    const json told = desk.answer(set_request("scalar.dye.mean_gradient", {1.0, 2.0}, 0));
    EXPECT_THAT(told.at("message"), HasSubstr("2 numbers"));
  });
  run(with_steps(sod, 2), "gas", [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 1)) return;
    EXPECT_THAT(desk.answer(set_request("hydro.riemann", "hlcc", 1)).at("hint"), HasSubstr("\"hllc\""));
    EXPECT_THAT(desk.answer(set_request("output.checkpoint.on_failure", "halt", 1)).at("hint"), HasSubstr("stop"));
    EXPECT_FALSE(desk.answer(set_request("output.checkpoint.asynchronous", "maybe", 1)).at("ok"));
    EXPECT_TRUE(desk.answer(set_request("output.checkpoint.asynchronous", "true", 1)).at("ok"));
    const json knobs = desk.answer(request("list")).at("knobs");
    const auto type_of = [&](const std::string& name) {
      return std::find_if(knobs.begin(), knobs.end(), [&](const json& knob) { return knob.at("name") == name; })
          ->at("type");
    };
    EXPECT_EQ(type_of("hydro.riemann"), "word");
    EXPECT_EQ(type_of("output.checkpoint.asynchronous"), "flag");
  });
  EXPECT_EQ(events("gas", "checkpoint").at(0).at("asynchronous"), true);
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
    EXPECT_THAT(answer(set_request("run.wall_time", "-1 s", 3)), HasSubstr("run.wall_time"));
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

TEST_F(SteeringTest, ACheckpointByHandThatCannotBeWrittenIsToldSoAndMayBeAskedForAgain) {
  const std::string obstacle = (folder / "a") + "/pending";
  run(sod, "a", [&](SteeringDesk& desk, const std::string& line) {
    if (is_step(line, 1)) desk.answer(request("pause", {{"at", 2}}));
    if (line.starts_with("paused")) {
      std::ofstream(obstacle) << "no folder";
      desk.answer(request("checkpoint"));
    }
    if (!line.starts_with("the checkpoint was not written")) return;
    std::filesystem::remove(obstacle);
    desk.answer(request("checkpoint"));
    desk.answer(request("stop"));
  });

  EXPECT_EQ(events("a", "steering_refused").size(), 1u);
  EXPECT_EQ(events("a", "checkpoint_committed").size(), 1u);
  const std::vector<json> begun = events("a", "checkpoint_begun");
  ASSERT_EQ(begun.size(), 2u);
  for (const json& event : begun) EXPECT_EQ(event.at("among"), "by hand");
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

  EXPECT_EQ(events("a", "steering_refused").size(), 2u) << "with nothing new since the one before";
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

std::string universe(const std::string& rest) {
  return "simulation = \"cosmology\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[cosmology]\nbox = \"40 Mpc\"\nz_start "
         "= 14\nz_end = 12.5\n[output]\ncheckpoint = { at_end = true, keep = 0 }\n" +
         rest;
}
const std::string refined =
    "[amr]\nmax_level = 1\n[refine.dense]\ncriterion = \"threshold\"\nfield = \"gas_overdensity\"\nrefine_above = "
    "1.05\ncoarsen_below = 0.5\n";

// A quarter of the cells of a universe get twice the gas and, of what is dense, ten times the heat.
TEST_F(SteeringTest, GasOfAUniverseIsEditedAndItsBooksKnow) {
  const auto hear = [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 1)) return;
    const json quarter{{"cells", {{0, 0, 0}, {8, 8, 16}}}, {"operation", "multiply"}, {"value", 2.0}};
    EXPECT_TRUE(desk.answer(request("edit", {{"name", "gas_density"}, {"at", 2}, {"edit", quarter}})).at("ok"));
    const json dense{{"where", "gas_overdensity > 1.5"}, {"operation", "multiply"}, {"value", 1000.0}};
    EXPECT_TRUE(desk.answer(request("edit", {{"name", "pressure"}, {"at", 2}, {"edit", dense}})).at("ok"));
    const json units = desk.answer(request("list")).at("editable");
    EXPECT_EQ(units.at(0).at("unit"), "Msun/Mpc^3");
  };
  for (const std::string& rest : test::shortened<std::string>({refined, ""})) {
    const std::string text = universe(rest), name = rest.empty() ? "uniform" : "refined";
    run(text, name + "_plain");
    run(text, name, hear);
    run(with_steps(text, 4), name + "_parts", hear);
    run(text, name + "_parts", {}, {io::ExistingRun::resume});
    run(text, name + "_again", {}, {.replay = (folder / name) + "/events.jsonl"});

    const std::vector<json> edits = events(name, "steering");
    ASSERT_EQ(edits.size(), 2u) << name;
    const json end = events(name, "run_end").at(0);
    EXPECT_GT(edits[0].at("added").at("mass").get<double>(), 0.0);
    EXPECT_EQ(edits[1].at("added").at("mass").get<double>(), 0.0);
    EXPECT_LT(end.at("gas_mass_error").get<double>(), 1e-12) << name;
    // What a mesh of 16^3 cells gets wrong by itself stays: what was added would be a hundred times the limit.
    const auto energy = [&](std::size_t n) { return std::fabs(edits[n].at("added").at("energy").get<double>()); };
    const auto residual = [&](const std::string& of) {
      return events(of, "run_end").at(0).at("energy").at("residual").get<double>();
    };
    EXPECT_LT(std::fabs(residual(name) - residual(name + "_plain")), 0.01 * (energy(0) + energy(1))) << name;
    const std::string last = "/chk" + io::step_name(steps(name).rbegin()->first) + ".hdf5_chk";
    const auto state = [&](const std::string& of) { return test::state_bytes((folder / of) + last); };
    EXPECT_EQ(state(name), state(name + "_parts")) << name;
    EXPECT_EQ(state(name), state(name + "_again")) << name;
  }
}

}  // namespace
}  // namespace sidestream::sims
