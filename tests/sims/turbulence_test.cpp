// Turbulent flows as runs: the same bits on any ranks, by every transport and through a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "sidestream/core/error.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/snapshot_file.hpp"
#include "sidestream/sims/simulation.hpp"
#include "support/program_runs.hpp"

namespace sidestream::sims {
namespace {

const test::Simulations known({"simulations", "simulation", "for this test"}, {simulations().named("turbulence")});

// A flow with everything that a flow may have, in a cuboid.
const std::string everything =
    "[mesh]\ncells = [24, 16, 8]\nblock = 8\n"
    "[turbulence]\nlength = [6.0, 5.0, 4.0]\nviscosity = 0.02\nend = 0.5\nrotation = 0.7\n"
    "[initial]\nflow = \"random\"\npeak = 2.0\n"
    "[forcing]\nkind = \"stochastic\"\nhighest = 1.5\n"
    "[scalar.dye]\nschmidt = 0.7\nmean_gradient = [0.0, 0.0, 1.0]\n"
    "[scalar.salt]\nschmidt = 2.0\namplitude = 1.0\nwave = [1, -1, 0]\n"
    "[tracers.dust]\ncount = 100\n[tracers.pollen]\ncount = 7\nseed = 2\n";
const std::string checkpoint = "[output]\ncheckpoint = { format = \"raw\", every = 2, keep = 9 }\n";

class Turbulence : public test::ProgramRuns {
 protected:
  Turbulence() : ProgramRuns(known) {}

  std::map<std::string, std::string> state_after(int steps, const std::string& config, const std::string& name,
                                                 int ranks = 0) const {
    run("[run]\nmax_steps = " + std::to_string(steps) + "\n" + config + checkpoint, name, {}, ranks);
    return state(name);
  }
  nlohmann::json last_event(const std::string& name) const { return test::events(folder / name, "run_end").at(0); }
};

TEST_F(Turbulence, HasTheSameBitsOnAnyRanks) {
  const auto alone = state_after(4, everything, "alone", 1);

  EXPECT_GT(alone.size(), 40U);
  EXPECT_EQ(alone.count("dust position 0") + alone.count("pollen id") + alone.count("dust velocity_z"), 3U);
  EXPECT_TRUE(state_after(4, everything, "together") == alone);
}

TEST_F(Turbulence, WithDisplacedGridsHasTheSameBitsOnAnyRanksAndThroughARestart) {
  const std::string shifted =
      "[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\nend = 0.12\ndealiasing = \"phase-shift\"\nscheme = "
      "\"rk2\"\n"
      "viscosity = 0.05\ndt = 0.02\n[initial]\nflow = \"random\"\npeak = 2.0\n[forcing]\nkind = \"power\"\n"
      "[tracers.dust]\ncount = 100\n";
  const auto alone = state_after(6, shifted, "alone", 1);

  run_whole_and_in_parts(shifted + checkpoint, 2, "whole", "parts");

  EXPECT_TRUE(state("whole") == alone);
  EXPECT_TRUE(state("parts") == alone);
}

TEST_F(Turbulence, GoesOnFromACheckpointOnOtherRanksToTheBit) {
  for (const std::string kind : {"stochastic", "frozen", "power"}) {
    std::string config = everything + checkpoint;
    config.replace(config.find("stochastic"), 10, kind);
    run_whole_and_in_parts(config, 2, "whole_" + kind, "parts_" + kind);
    EXPECT_TRUE(state("parts_" + kind) == state("whole_" + kind)) << kind;
  }
}

TEST_F(Turbulence, GoesOnFromCheckpointsOfEveryFormat) {
  for (const io::Format& format : io::formats()) {
    if (!format.checkpoint) continue;
    const std::string output = "[output]\ncheckpoint = { format = \"" + format.name + "\", every = 2, keep = 9 }\n";
    run_whole_and_in_parts(everything + output, 2, "whole_" + format.name, "parts_" + format.name);
    EXPECT_TRUE(state("parts_" + format.name) == state("whole_" + format.name)) << format.name;
  }
}

TEST_F(Turbulence, EveryTransportBringsTheSameBits) {
  expect_the_same_by_every_transport([](const std::string& transport) {
    const std::string when = "\nevery = 2\ntransport = \"" + transport + "\"\n";
    return "[run]\nmax_steps = 4\n" + everything +
           "[task.velocities]\nanalysis = \"pdf\"\ngrid = \"space\"\nfields = [\"velocity_x\", \"dye\", \"pressure\"]" +
           when + "[task.cut]\nanalysis = \"slice\"\ngrid = \"space\"\naxis = \"y\"\nfields = [\"vorticity_z\"]" +
           when + "[task.waves]\nanalysis = \"slice\"\naxis = \"y\"\nfields = [\"velocity_z_real\"]" + when;
  });
}

TEST_F(Turbulence, GoesOnWithMoreOrFewerCells) {
  const std::string start = "[turbulence]\nend = 0.2\nviscosity = 0.1\ndt = 0.1\n",
                    coarse = "[mesh]\ncells = [16, 16, 16]\nblock = 8\n";
  const std::string fine = "[mesh]\ncells = [16, 24, 32]\nblock = 8\n";
  run("[run]\nmax_steps = 1\n" + coarse + start + "[output]\ncheckpoint = { format = \"raw\", at_end = true }\n",
      "coarse");
  const std::string file = io::generations_in(folder / "coarse").front().path;

  run(fine + start, "fine", {.file = file});

  const auto first = test::events(folder / "fine", "step").at(0);
  EXPECT_EQ(first.at("energy"), last_event("coarse").at("energy"));
  EXPECT_EQ(first.at("time"), 0.1);
}

// What a force puts in, and what is lost, is integrated with the scheme's own order.
TEST_F(Turbulence, KeepsAccountOfItsEnergy) {
  for (const std::string kind : {"stochastic", "frozen", "power"}) {
    const std::string config =
        "[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\nend = 0.5\nviscosity = 0.05\ndt = 0.01\n"
        "[initial]\nflow = \"random\"\npeak = 2.0\n[forcing]\nhighest = 2.0\nkind = \"" +
        kind + "\"\n";
    run(config, kind);
    EXPECT_LT(std::fabs(last_event(kind).at("energy_balance").get<double>()), 1e-6) << kind;
  }
  EXPECT_NEAR(last_event("power").at("energy_injected").get<double>(), 0.05, 1e-12);
}

mesh::Particles sorted_tracers(const std::string& path) {
  const mesh::Particles found = io::open_snapshot_file(path)->read_particles(0, 1, "dust");
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t p) { return found.id[p]; });
  mesh::Particles sorted;
  for (const std::size_t p : order) {
    sorted.id.push_back(found.id[p]);
    for (std::size_t axis = 0; axis < 3; ++axis) sorted.position[axis].push_back(found.position[axis][p]);
  }
  return sorted;
}

// Files of particles alone tell the path of each by its id.
TEST_F(Turbulence, TracersAreFollowedByFilesOfParticles) {
  run("[run]\nmax_steps = 4\n" + everything +
          "[task.paths]\nwrite = \"particles\"\nformat = \"raw\"\nevery = 2\nspecies = [\"dust\"]\nparticle_share = "
          "0.5\n",
      "paths");

  std::vector<std::vector<std::int64_t>> followed;
  for (const std::int64_t step : {0, 2, 4}) {
    const std::string path = folder / "paths/paths/" + io::formats().named("raw").plotfile->of(step);
    followed.push_back(sorted_tracers(path).id);
  }

  EXPECT_GT(followed[0].size(), 25U);
  EXPECT_EQ(followed[0], followed[1]);
  EXPECT_EQ(followed[0], followed[2]);
}

// Around the box once and again; in a plane too, where a tracer keeps its height.
TEST_F(Turbulence, AMeanFlowCarriesTracersAtItsSpeed) {
  for (const std::string z : {"1", "8"}) {
    run("[mesh]\ncells = [8, 8, " + z +
            "]\nblock = 8\n[turbulence]\nend = 4.0\ndt = 0.125\n"
            "[initial]\nflow = \"rest\"\nmean = [3.0, -1.0, 0.0]\n[tracers.dust]\ncount = 5\n"
            "[output]\ncheckpoint = { format = \"raw\", at_start = true, at_end = true }\n",
        "flow" + z);
    const auto newest_first = io::generations_in(folder / ("flow" + z));
    ASSERT_EQ(newest_first.size(), 2U);
    const mesh::Particles before = sorted_tracers(newest_first[1].path), after = sorted_tracers(newest_first[0].path);

    ASSERT_EQ(before.size(), 5U);
    const double box = 2.0 * std::numbers::pi;
    const std::array carried{12.0, -4.0, 0.0};
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t p = 0; p < 5; ++p)
        EXPECT_NEAR(std::remainder(after.position[axis][p] - before.position[axis][p] - carried[axis], box), 0.0,
                    1e-12);
  }
}

TEST_F(Turbulence, ATwoDimensionalFlowStaysSo) {
  run("[mesh]\ncells = [16, 16, 1]\nblock = 16\n[turbulence]\nend = 1.0\nviscosity = 0.1\ndt = 0.1\n"
      "[initial]\nflow = \"taylor-green-2d\"\n",
      "flat");

  EXPECT_NEAR(last_event("flat").at("energy").get<double>(), 0.25 * std::exp(-0.4), 1e-14);
}

std::string problem_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(Turbulence, RefusesWhatItCannotDo) {
  const auto refused = [](const std::string& rest) { return problem_of([&] { test::configuration_of(known, rest); }); };
  using testing::HasSubstr;
  const std::string mesh = "[mesh]\ncells = [8, 8, 8]\nblock = 8\n";
  EXPECT_THAT(refused("[mesh]\ncells = [1, 8, 8]\nblock = 8\n"), HasSubstr("flat along x or y"));
  EXPECT_THAT(refused(mesh + "[turbulence]\nlength = [1.0]\n"), HasSubstr("`length` has 1 numbers"));
  EXPECT_THAT(refused(mesh + "[scalar.velocity_x]\nschmidt = 1.0\n"), HasSubstr("cannot be called `velocity_x`"));
  EXPECT_THAT(refused(mesh + "[tracers.\"a b\"]\ncount = 1\n"), HasSubstr("cannot be called `a b`"));
  EXPECT_THAT(refused(mesh + "[initial]\nflow = \"taylor-grene\"\n"), HasSubstr("taylor-green"));
}

TEST_F(Turbulence, NamesAnUnstableStepBeforeItIsTaken) {
  const std::string config = "[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\ndt = 2.0\n";
  EXPECT_THAT(problem_of([&] { run(config, "unstable"); }),
              testing::AllOf(testing::HasSubstr("the step is unstable"), testing::HasSubstr("turbulence.dt")));
}

}  // namespace
}  // namespace sidestream::sims
