// Turbulent flows as runs: the same bits on any ranks, by every transport and through a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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
  // Of all blocks of the newest checkpoint.
  std::vector<double> numbers_of(const std::string& name, const std::string& quantity) const {
    std::vector<double> all;
    for (const auto& [block, bytes] : state(name)) {
      if (!block.starts_with(quantity)) continue;
      std::vector<double> numbers(bytes.size() / sizeof(double));
      std::memcpy(numbers.data(), bytes.data(), bytes.size());
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return all;
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

// To fewer, with a flow whose waves are long.
TEST_F(Turbulence, GoesOnWithMoreOrFewerCells) {
  const std::string coarse = "[mesh]\ncells = [16, 16, 16]\nblock = 8\n",
                    fine = "[mesh]\ncells = [16, 24, 32]\nblock = 8\n";
  for (const auto& [name, flow, from, to] :
       {std::array{std::string("more"), std::string("taylor-green"), coarse, fine}, {"fewer", "abc", fine, coarse}}) {
    const std::string start =
        "[turbulence]\nend = 0.2\nviscosity = 0.1\ndt = 0.05\n[initial]\nflow = \"" + flow + "\"\n";
    run("[run]\nmax_steps = 1\n" + from + start + "[output]\ncheckpoint = { format = \"raw\", at_end = true }\n",
        name + "_first");
    const std::string file = io::generations_in(folder / (name + "_first")).front().path;

    run(to + start, name, {.file = file});

    const auto first = test::events(folder / name, "step").at(0);
    EXPECT_EQ(first.at("energy"), last_event(name + "_first").at("energy"));
    EXPECT_EQ(first.at("time"), 0.05);
  }
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
  EXPECT_GT(last_event("frozen").at("energy_injected").get<double>(), 0.1);
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
      "[initial]\nflow = \"taylor-green-2d\"\n[output]\ncheckpoint = { format = \"raw\", at_end = true }\n",
      "flat");

  EXPECT_NEAR(last_event("flat").at("energy").get<double>(), 0.25 * std::exp(-0.4), 1e-14);
  EXPECT_THAT(numbers_of("flat", "velocity_z"), testing::AllOf(testing::Not(testing::IsEmpty()), testing::Each(0.0)));
}

// Of a mean flow that crosses 8 + 16 + 6 cells in a unit of time.
TEST_F(Turbulence, TakesStepsOfItsCourantNumber) {
  run("[run]\nmax_steps = 1\n[mesh]\ncells = [8, 16, 8]\nblock = 8\n"
      "[turbulence]\nlength = [1.0, 2.0, 4.0]\ncourant = 0.6\n"
      "[initial]\nflow = \"rest\"\nmean = [1.0, -2.0, 3.0]\n",
      "carried");

  const nlohmann::json step = test::events(folder / "carried", "step").back();
  EXPECT_NEAR(step.at("dt").get<double>(), 0.02, 1e-15);
  EXPECT_NEAR(step.at("courant").get<double>(), 0.6, 1e-14);
}

// kmax eta of 5 waves, eta being (nu^3 / dissipation)^(1/4).
TEST_F(Turbulence, TellsWhetherItIsResolved) {
  for (const double nu : {0.05, 1e-4}) {
    const std::string name = nu > 0.01 ? "resolved" : "unresolved";
    run("[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\nend = 0.1\ndt = 0.02\nviscosity = " +
            std::to_string(nu) + "\n",
        name);

    const nlohmann::json step = test::events(folder / name, "step").back();
    const double dissipation = step.at("dissipation").get<double>(),
                 expected = 5.0 * std::pow(nu * nu * nu / dissipation, 0.25);
    EXPECT_NEAR(step.at("kmax_eta").get<double>(), expected, 1e-12 * expected);
    EXPECT_EQ(last_event(name).at("is_resolved").get<bool>(), nu > 0.01);
  }
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
  EXPECT_THAT(refused("[mesh]\ncells = [8, 8, 4]\nblock = 4\n[tracers.dust]\ncount = 1\n"),
              HasSubstr("more than 4 cells"));
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

// RK4 carries waves stably with rates up to 2 sqrt(2) i, and the shortest of 16 cells is 5.
TEST_F(Turbulence, TakesStepsUpToTheLimitOfStability) {
  const double most = 2.0 * std::numbers::sqrt2 / 5.0;
  for (const double share : {0.99, 1.01}) {
    const std::string name = share < 1.0 ? "stable" : "beyond", dt = std::to_string(share * most);
    const std::string config =
        "[run]\nmax_steps = 1\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\ndt = " + dt +
        "\n[initial]\nflow = \"rest\"\nmean = [1.0, 0.0, 0.0]\n";

    const std::string problem = problem_of([&] { run(config, name); });

    EXPECT_THAT(problem, testing::HasSubstr(share < 1.0 ? "accepted" : "the step is unstable"));
    EXPECT_EQ(test::events(folder / name, "step").back().at("step"), share < 1.0 ? 1 : 0);
  }
}

}  // namespace
}  // namespace sidestream::sims
