// Turbulent flows as runs: the same bits on any ranks, by every transport and through a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
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
    "[scalar.salt]\nschmidt = 2.0\namplitude = 1.0\nwave = [1, -1, 0]\n";
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
  EXPECT_TRUE(state_after(4, everything, "together") == alone);
}

TEST_F(Turbulence, WithDisplacedGridsHasTheSameBitsOnAnyRanksAndThroughARestart) {
  const std::string shifted =
      "[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\nend = 0.12\ndealiasing = \"phase-shift\"\nscheme = "
      "\"rk2\"\n"
      "viscosity = 0.05\ndt = 0.02\n[initial]\nflow = \"random\"\npeak = 2.0\n[forcing]\nkind = \"power\"\n";
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

// The waves alone that dealiasing keeps: no bit is lost.
TEST_F(Turbulence, GoesOnFromKeptWavesInEveryFormatToTheBit) {
  std::string ellipsoid = everything;
  ellipsoid.replace(ellipsoid.find("end = 0.5"), 9, "end = 0.5\ndealiasing = \"phase-shift\"");
  for (const io::Format& format : io::formats()) {
    if (!format.checkpoint) continue;
    const std::string output =
        "[output]\ncheckpoint = { state = \"kept\", format = \"" + format.name + "\", every = 2, keep = 9 }\n";
    run_whole_and_in_parts(ellipsoid + output, 2, "whole_" + format.name, "parts_" + format.name);
    EXPECT_TRUE(state("parts_" + format.name) == state("whole_" + format.name)) << format.name;
  }
}

// What is written behind the run is what is written by it.
TEST_F(Turbulence, WritesTwoComponentsInSinglePrecisionInEveryFormat) {
  std::map<std::string, double> energies;
  for (const io::Format& format : io::formats()) {
    if (!format.checkpoint) continue;
    const std::string output =
        "[output]\ncheckpoint = { state = \"two-components\", precision = \"single\", asynchronous = true, format = "
        "\"" +
        format.name + "\", every = 2, keep = 9 }\n";
    run("[run]\nmax_steps = 2\n" + everything + output, format.name);
    const double energy = last_event(format.name).at("energy");
    run("[run]\nmax_steps = 4\n" + everything + output, format.name, {.existing = io::ExistingRun::resume});
    const nlohmann::json end = test::events(folder / format.name, "run_end").back();
    EXPECT_LT(end.at("divergence").get<double>(), 1e-14) << format.name;
    energies[format.name] = end.at("energy");
    EXPECT_NE(energies[format.name], energy);
  }
  for (const auto& [name, energy] : energies) EXPECT_EQ(energy, energies.begin()->second) << name;
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
  EXPECT_THAT(refused(mesh + "[initial]\nflow = \"taylor-grene\"\n"), HasSubstr("taylor-green"));
}

TEST_F(Turbulence, NamesAnUnstableStepBeforeItIsTaken) {
  const std::string config = "[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\ndt = 2.0\n";
  EXPECT_THAT(problem_of([&] { run(config, "unstable"); }),
              testing::AllOf(testing::HasSubstr("the step is unstable"), testing::HasSubstr("turbulence.dt")));
}

}  // namespace
}  // namespace sidestream::sims
