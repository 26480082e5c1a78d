#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
#include "sidestream/io/generations.hpp"
#include "sims/steered_run.hpp"
#include "support/slow_tier.hpp"

namespace sidestream::sims {
namespace {

using nlohmann::json;
using test::is_step;
using testing::HasSubstr;

const std::string tunnel =
    "simulation = \"lbm\"\n[mesh]\ncells = [40, 20, 1]\nblock = 4\n[lbm]\nviscosity = 0.05\nend = 1000\n"
    "[initial]\nvelocity = [0.05, 0.0, 0.0]\n[edge.left]\nkind = \"inflow\"\nvelocity = [0.05, 0.0, "
    "0.0]\n[edge.right]\nkind = \"outflow\"\n"
    "[edge.bottom]\nkind = \"wall\"\n[edge.top]\nkind = \"wall\"\n"
    "[barrier.post]\nshape = \"cylinder\"\ncenter = [10.0, 10.3]\nradius = 2.5\n"
    "[output]\ncheckpoint = { every = 100 }\n";
const std::string box =
    "simulation = \"lbm\"\n[mesh]\ncells = [12, 10, 8]\nblock = 2\n[lbm]\nviscosity = 0.05\nend = 1000\n"
    "force = [1e-5, 0.0, 0.0]\n[initial]\nvelocity = [0.05, 0.02, 0.0]\n"
    "[edge.back]\nkind = \"wall\"\n[edge.front]\nkind = \"wall\"\nvelocity = [0.05, 0.0, 0.0]\n"
    "[barrier.ball]\nshape = \"sphere\"\ncenter = [6.0, 5.0, 4.0]\nradius = 2.0\n"
    "[output]\ncheckpoint = { every = 100 }\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("nothing to replace: " + from);
  return text.replace(at, from.size(), to);
}
std::string steps_of(const std::string& text, int steps) {
  return text + "[run]\nmax_steps = " + std::to_string(steps) + "\n";
}
std::string in_rectangles(const std::string& text) {
  return with(text, "end = 1000\n", "end = 1000\ndecomposition = \"rectangles\"\n");
}

class LbmTest : public testing::Test, public test::SteeredRun {
 protected:
  std::map<std::string, std::string> state(const std::string& name) {
    return test::state_bytes(io::generations_in(folder / name).front().path);
  }
  // On so many ranks, all of them or fewer.
  void run_on(int ranks, const std::string& text, const std::string& name, io::ExistingRun existing) {
    const comm::Communicator some = world.split(world.rank() < ranks ? 0 : -1);
    if (!some.is_empty()) sims::run(some, read_run(core::parse_toml(text, "run.toml")), folder / name, {existing}, {});
    world.barrier();
  }
};

TEST_F(LbmTest, HasTheSameBitsOnAnyRanksAndThroughARestart) {
  int number = 0;
  for (const std::string& text :
       test::shortened<std::string>({tunnel, in_rectangles(box), box, in_rectangles(tunnel),
                                     with(tunnel, "end = 1000\n", "end = 1000\nprecision = \"single\"\n")},
                                    2)) {
    const std::string name = std::to_string(++number);
    run_on(1, steps_of(text, 12), "alone" + name, io::ExistingRun::refuse);
    run_on(world.size(), steps_of(text, 12), "together" + name, io::ExistingRun::refuse);
    run_on(world.size(), steps_of(text, 7), "parts" + name, io::ExistingRun::refuse);
    run_on(std::max(1, world.size() - 1), steps_of(text, 12), "parts" + name, io::ExistingRun::resume);

    const auto alone = state("alone" + name);
    EXPECT_GT(alone.size(), 50U);
    EXPECT_TRUE(state("together" + name) == alone) << text;
    EXPECT_TRUE(state("parts" + name) == alone) << text;
    const json forces = events("alone" + name, "run_end").at(0).at("forces");
    EXPECT_EQ(events("together" + name, "run_end").at(0).at("forces"), forces);
    EXPECT_EQ(events("parts" + name, "run_end").at(1).at("forces"), forces);
  }
}

TEST_F(LbmTest, WhatIsPaintedIsABarrierAndStaysOne) {
  const auto paint = [](couple::SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 1)) return;
    const json wall{{"cells", {{20, 5, 0}, {22, 15, 1}}}, {"operation", "set"}, {"value", 2}};
    const json hole{{"cells", {{0, 0, 0}, {15, 20, 1}}}, {"operation", "set"}, {"value", 0}};
    const json odd{{"cells", {{0, 0, 0}, {15, 20, 1}}}, {"operation", "add"}, {"value", 7}};
    EXPECT_TRUE(desk.answer(test::request("edit", {{"name", "barrier"}, {"at", 2}, {"edit", wall}})).at("ok"));
    EXPECT_TRUE(desk.answer(test::request("edit", {{"name", "barrier"}, {"at", 3}, {"edit", hole}})).at("ok"));
    EXPECT_TRUE(desk.answer(test::request("edit", {{"name", "barrier"}, {"at", 4}, {"edit", odd}})).at("ok"));
    const json all{{"operation", "set"}, {"value", 2}};
    EXPECT_TRUE(desk.answer(test::request("edit", {{"name", "barrier"}, {"at", 4}, {"edit", all}})).at("ok"));
    EXPECT_TRUE(desk.answer(test::set_request("edge.left.velocity", json::array({0.02, 0.0, 0.0}), 5)).at("ok"));
    EXPECT_TRUE(desk.answer(test::set_request("lbm.viscosity", 0.1, 5)).at("ok"));
    const std::string fast =
        desk.answer(test::set_request("edge.left.velocity", json::array({0.5, 0.0, 0.0}), 5)).dump();
    EXPECT_THAT(fast, HasSubstr("Mach"));
    EXPECT_THAT(desk.answer(test::set_request("lbm.viscosity", 1e-5, 5)).dump(), HasSubstr("stable"));
  };
  run(steps_of(tunnel, 12), "whole", paint);
  run(steps_of(tunnel, 8), "parts", paint);
  run(steps_of(tunnel, 12), "parts", {}, {io::ExistingRun::resume});

  auto step = steps("whole");
  EXPECT_FALSE(step[1].at("forces").contains("painted"));
  EXPECT_GT(step[12].at("forces").at("painted").at(0).get<double>(), 0.0);
  EXPECT_NE(step[2].at("forces").at("post").at(0), 0.0);
  EXPECT_EQ(step[12].at("forces").at("post").at(0), 0.0);
  const std::vector<json> edits = events("whole", "steering");
  EXPECT_EQ(edits.at(0).at("cells"), 20);
  EXPECT_THAT(events("whole", "steering_refused").at(0).dump(), HasSubstr("whole number"));
  EXPECT_THAT(events("whole", "steering_refused").at(1).dump(), HasSubstr("fill all cells"));
  EXPECT_TRUE(state("whole") == state("parts"));
  EXPECT_EQ(step[12].at("forces"), steps("parts")[12].at("forces"));
}

TEST_F(LbmTest, BeginsWithTheVelocitiesOfAFile) {
  const std::string text = steps_of(
      with(box, "checkpoint = { every = 100 }",
           "plotfile = { format = \"raw\", at_end = true, variables = [\"density\", \"velocity_x\", \"velocity_y\", "
           "\"velocity_z\"] }"),
      4);
  run(text, "a");
  run(text, "b", {}, {.file = (folder / "a") + "/plt00004.raw"});

  const auto first = test::state_bytes((folder / "a") + "/plt00004.raw"),
             second = test::state_bytes((folder / "b") + "/plt00004.raw");
  std::size_t compared = 0;
  for (const auto& [name, bytes] : first) {
    if (name.find("velocity") == std::string::npos && name.find("density") == std::string::npos) continue;
    std::vector<double> a(bytes.size() / sizeof(double)), b(a.size());
    std::memcpy(a.data(), bytes.data(), bytes.size());
    std::memcpy(b.data(), second.at(name).data(), bytes.size());
    for (std::size_t n = 0; n < a.size(); ++n) ASSERT_NEAR(a[n], b[n], 1e-15);
    compared += a.size();
  }
  EXPECT_EQ(compared, 4U * 12 * 10 * 8);
}

TEST_F(LbmTest, AFlowThatBlowsUpIsNamedAndItsCheckpointKept) {
  const std::string wild = with(with(tunnel, "viscosity = 0.05", "viscosity = 0.001\ncollision = \"bgk\""),
                                "inflow\"\nvelocity = [0.05", "inflow\"\nvelocity = [0.17");
  std::string message;
  try {
    run(with(wild, "every = 100", "every = 5"), "wild");
  } catch (const core::Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("in the cell ("));
  EXPECT_THAT(message, HasSubstr("step "));
  EXPECT_THAT(message, HasSubstr("lbm.viscosity"));
  EXPECT_FALSE(io::generations_in(folder / "wild").empty());
}

TEST_F(LbmTest, ARestartWithAnotherBarrierIsRefused) {
  run(steps_of(tunnel, 3), "a");
  EXPECT_THROW(run(steps_of(with(tunnel, "radius = 2.5", "radius = 3.5"), 6), "a", {}, {io::ExistingRun::resume}),
               core::Error);
}

std::string problem_of(const std::string& text) {
  try {
    read_run(core::parse_toml(text, "run.toml"));
  } catch (const core::Error& error) {
    return error.what();
  }
  return "";
}

TEST(LbmConfigTest, RefusesWhatCannotBe) {
  struct Wrong {
    const char *from, *to, *what;
  };
  for (const Wrong& wrong : {
           Wrong{"viscosity = 0.05", "viscosity = 1e-5", "cannot be stable"},
           {"kind = \"inflow\"\nvelocity = [0.05", "kind = \"inflow\"\nvelocity = [0.2", "Mach number"},
           {"kind = \"inflow\"\nvelocity = [0.05", "kind = \"inflow\"\nvelocity = [-0.05",
            "nothing comes in at `left`"},
           {"[edge.right]\nkind = \"outflow\"\n", "", "`left` is not periodic"},
           {"kind = \"outflow\"", "kind = \"outflow\"\nvelocity = [0.1, 0.0, 0.0]", "no effect"},
           {"[edge.top]\nkind = \"wall\"", "[edge.top]\nkind = \"wall\"\nvelocity = [0.0, 0.1, 0.0]",
            "out of its place"},
           {"[edge.top]\nkind = \"wall\"", "[edge.top]\nkind = \"inflow\"\nvelocity = [0.0, -0.1, 0.0]", "meet"},
           {"[edge.top]\nkind = \"wall\"", "[edge.top]\nkind = \"wall\"\n[edge.front]\nkind = \"wall\"\n",
            "face `front`"},
           {"[edge.left]", "[edge.lft]", "left"},
           {"block = 4", "block = 3", "do not divide"},
           {"radius = 2.5", "radius = 0.1", "no cell"},
           {"radius = 2.5\n", "", "`radius`"},
           {"shape = \"cylinder\"\ncenter = [10.0, 10.3]", "shape = \"sphere\"\ncenter = [10.0, 10.3, 0.5]",
            "in a plane"},
           {"cells = [40, 20, 1]", "cells = [40, 1, 1]", "flat"},
           {"end = 1000", "end = 1000\noscillation = [1e-5, 0.0, 0.0]", "lbm.period"},
           {"end = 1000", "end = 1000\ncollision = \"bgk\"\nmagic = 0.25", "no effect"},
       }) {
    const std::string problem = problem_of(with(tunnel, wrong.from, wrong.to));
    EXPECT_THAT(problem, HasSubstr(wrong.what)) << wrong.to;
    EXPECT_THAT(problem, HasSubstr("run.toml:")) << wrong.to;
  }
  EXPECT_EQ(problem_of(tunnel), "");
  for (const std::string& text : {tunnel, box, with(tunnel, "end = 1000", "end = 1000\ncollision = \"bgk\"")})
    EXPECT_EQ(problem_of(read_run(core::parse_toml(text, "run.toml")).resolved), "");
  EXPECT_EQ(problem_of(with(tunnel, "kind = \"inflow\"", "kind = \"inflow\"\nprofile = \"parabolic\"")), "");
  EXPECT_THAT(problem_of(with(box, "[initial]",
                              "[edge.left]\nkind = \"inflow\"\nvelocity = [0.05, 0.0, 0.0]\nprofile = "
                              "\"parabolic\"\n[edge.right]\nkind = \"outflow\"\n[edge.top]\nkind = "
                              "\"wall\"\n[edge.bottom]\nkind = \"outflow\"\n[initial]")),
              "");
}

}  // namespace
}  // namespace sidestream::sims
