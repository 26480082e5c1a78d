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
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/sims/simulation.hpp"
#include "support/checkpoint_formats.hpp"
#include "support/program_runs.hpp"
#include "support/slow_tier.hpp"

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
// The same, over after four steps and more.
const std::string shorter = [] {
  std::string text = everything;
  return text.replace(text.find("end = 0.5"), 9, "end = 0.12");
}();
const std::string checkpoint = "[output]\ncheckpoint = { format = \"raw\", every = 2, keep = 9 }\n";

std::string in_single(std::string config) {
  return config.insert(config.find("[turbulence]\n") + 13, "precision = \"single\"\n");
}

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
  for (const std::string precision : {"double", "single"}) {
    const std::string config = precision == "single" ? in_single(everything) : everything;
    const auto alone = state_after(4, config, "alone_" + precision, 1);

    EXPECT_GT(alone.size(), 40U);
    EXPECT_EQ(alone.count("dust position 0") + alone.count("pollen id") + alone.count("dust velocity_z"), 3U);
    EXPECT_TRUE(state_after(4, config, "together_" + precision) == alone);
  }
}

TEST_F(Turbulence, InSinglePrecisionHasTheSameBitsByEveryExchange) {
  const auto usual = state_after(2, in_single(everything), "usual");
  for (const redistribute::StrategyEntry& strategy : redistribute::strategies()) {
    if (strategy.make == nullptr) continue;  // it takes one of the others
    if (!test::is_slow_tier() && strategy.name != "p2p" && strategy.name != "shared") continue;
    const std::string exchange = "exchange = \"" + strategy.name + "\"\n";
    EXPECT_TRUE(state_after(2, exchange + in_single(everything), strategy.name) == usual) << strategy.name;
  }
}

TEST_F(Turbulence, WithDisplacedGridsHasTheSameBitsOnAnyRanksAndThroughARestart) {
  const std::string shifted =
      "[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\nend = 0.12\ndealiasing = \"phase-shift\"\nscheme = "
      "\"rk2\"\n"
      "viscosity = 0.05\ndt = 0.02\n[initial]\nflow = \"random\"\npeak = 2.0\n[forcing]\nkind = \"power\"\n"
      "[tracers.dust]\ncount = 100\n";
  for (const std::string precision : {"double", "single"}) {
    const std::string config = precision == "single" ? in_single(shifted) : shifted;
    const auto alone = state_after(6, config, "alone_" + precision, 1);

    run_whole_and_in_parts(config + checkpoint, 2, "whole_" + precision, "parts_" + precision);

    EXPECT_TRUE(state("whole_" + precision) == alone);
    EXPECT_TRUE(state("parts_" + precision) == alone);
  }
}

TEST_F(Turbulence, GoesOnFromACheckpointOnOtherRanksToTheBit) {
  for (const std::string& kind : test::shortened<std::string>({"stochastic", "frozen", "power"})) {
    std::string config = everything + checkpoint;
    config.replace(config.find("stochastic"), 10, kind);
    run_whole_and_in_parts(config, 2, "whole_" + kind, "parts_" + kind);
    EXPECT_TRUE(state("parts_" + kind) == state("whole_" + kind)) << kind;
    run_whole_and_in_parts(in_single(config), 2, "single_" + kind, "single_parts_" + kind);
    EXPECT_TRUE(state("single_parts_" + kind) == state("single_" + kind)) << kind;
  }
}

// Floats in files and doubles in files are all of its bits; so are the waves that are kept.
TEST_F(Turbulence, InSinglePrecisionGoesOnFromCheckpointsToTheBit) {
  for (const std::string& form :
       test::shortened<std::string>({"state = \"kept\"", "format = \"sidestream\"", "precision = \"double\""})) {
    const std::string output = "[output]\ncheckpoint = { every = 2, keep = 9, " + form + " }\n";
    const std::string name = form.substr(0, form.find(' '));
    run_whole_and_in_parts(in_single(shorter) + output, 2, "whole_" + name, "parts_" + name);
    EXPECT_TRUE(state("parts_" + name) == state("whole_" + name)) << form;
  }
}

TEST_F(Turbulence, GoesOnFromCheckpointsOfEveryFormat) {
  for (const std::string& format : test::checkpoint_formats({"flash-netcdf", "files"})) {
    const std::string output = "[output]\ncheckpoint = { format = \"" + format + "\", every = 2, keep = 9 }\n";
    run_whole_and_in_parts(shorter + output, 2, "whole_" + format, "parts_" + format);
    EXPECT_TRUE(state("parts_" + format) == state("whole_" + format)) << format;
  }
}

// The waves alone that dealiasing keeps: no bit is lost.
TEST_F(Turbulence, GoesOnFromKeptWavesInEveryFormatToTheBit) {
  std::string ellipsoid = shorter;
  ellipsoid.replace(ellipsoid.find("end = 0.12"), 10, "end = 0.12\ndealiasing = \"phase-shift\"");
  for (const std::string& format : test::checkpoint_formats({"raw", "nyx"})) {
    const std::string output =
        "[output]\ncheckpoint = { state = \"kept\", format = \"" + format + "\", every = 2, keep = 9 }\n";
    run_whole_and_in_parts(ellipsoid + output, 2, "whole_" + format, "parts_" + format);
    EXPECT_TRUE(state("parts_" + format) == state("whole_" + format)) << format;
  }
}

// What is written behind the run is what is written by it.
TEST_F(Turbulence, WritesTwoComponentsInSinglePrecisionInEveryFormat) {
  std::map<std::string, double> energies;
  for (const std::string& format : test::checkpoint_formats({"sidestream", "enzo-hdf5"})) {
    const std::string output =
        "[output]\ncheckpoint = { state = \"two-components\", precision = \"single\", asynchronous = true, format = "
        "\"" +
        format + "\", every = 2, keep = 9 }\n";
    run("[run]\nmax_steps = 2\n" + everything + output, format);
    const double energy = last_event(format).at("energy");
    run("[run]\nmax_steps = 4\n" + everything + output, format, {.existing = io::ExistingRun::resume});
    const nlohmann::json end = test::events(folder / format, "run_end").back();
    EXPECT_LT(end.at("divergence").get<double>(), 1e-14) << format;
    energies[format] = end.at("energy");
    EXPECT_NE(energies[format], energy);
  }
  for (const auto& [name, energy] : energies) EXPECT_EQ(energy, energies.begin()->second) << name;
}

std::string tasks_by(const std::string& transport, const std::string& config) {
  const std::string when = "\nevery = 2\ntransport = \"" + transport + "\"\n";
  return "[run]\nmax_steps = 4\n" + config +
         "[task.velocities]\nanalysis = \"pdf\"\ngrid = \"space\"\nfields = [\"velocity_x\", \"dye\", \"pressure\"]" +
         when + "[task.cut]\nanalysis = \"slice\"\ngrid = \"space\"\naxis = \"y\"\nfields = [\"vorticity_z\"]" + when +
         "[task.waves]\nanalysis = \"slice\"\naxis = \"y\"\nfields = [\"velocity_z_real\"]" + when;
}

TEST_F(Turbulence, EveryTransportBringsTheSameBits) {
  expect_the_same_by_every_transport([](const std::string& transport) { return tasks_by(transport, everything); });
}

TEST_F(Turbulence, EveryTransportBringsTheSameBitsInSinglePrecision) {
  expect_the_same_by_every_transport(
      [](const std::string& transport) { return tasks_by(transport, in_single(everything)); });
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
  for (const std::string& kind : std::vector<std::string>{"stochastic", "frozen", "power"}) {
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
  const std::string mesh = "[mesh]\ncells = [8, 8, 8]\nblock = 8\n";
  EXPECT_THAT(refused("[mesh]\ncells = [1, 8, 8]\nblock = 8\n"), HasSubstr("flat along x or y"));
  EXPECT_THAT(refused(mesh + "[turbulence]\nlength = [1.0]\n"), HasSubstr("`length` has 1 numbers"));
  EXPECT_THAT(refused(mesh + "[scalar.velocity_x]\nschmidt = 1.0\n"), HasSubstr("cannot be called `velocity_x`"));
  EXPECT_THAT(refused(mesh + "[tracers.\"a b\"]\ncount = 1\n"), HasSubstr("cannot be called `a b`"));
  EXPECT_THAT(refused(mesh + "[initial]\nflow = \"taylor-grene\"\n"), HasSubstr("taylor-green"));
  EXPECT_THAT(refused(mesh + "[turbulence]\nseed = -1\n"), HasSubstr("from 0 to 10^15"));
}

TEST_F(Turbulence, RefusesOptionsWithoutEffect) {
  const auto refused = [](const std::string& rest) {
    return problem_of([&] {
      test::configuration_of(known, "[mesh]\ncells = [16, 16, 16]\nblock = 8\n" + rest).plan->check_start(true);
    });
  };
  using testing::HasSubstr;
  EXPECT_THAT(refused("[initial]\npeak = 3.0\n"), HasSubstr("`initial.peak` has no effect on the flow `taylor-green`"));
  EXPECT_THAT(refused("[initial]\ntable = \"spectrum.txt\"\n"), HasSubstr("`initial.table` has no effect"));
  EXPECT_THAT(refused("[initial]\nflow = \"random\"\nwave = [2, 1, 1]\n"), HasSubstr("`initial.wave` has no effect"));
  EXPECT_THAT(refused("[initial]\nflow = \"random\"\ntable = \"spectrum.txt\"\npeak = 3.0\n"),
              HasSubstr("`initial.peak` has no effect beside `initial.table`"));
  EXPECT_THAT(refused("[forcing]\nhighest = 2.0\n"),
              HasSubstr("`forcing.highest` has no effect with `forcing.kind` = \"none\""));
  EXPECT_THAT(refused("[forcing]\nkind = \"frozen\"\npower = 2.0\n"), HasSubstr("`forcing.power` has no effect"));
  EXPECT_THAT(refused("[forcing]\nkind = \"power\"\nhighest = 100\n"), HasSubstr("none beyond 8.66 is kept"));
  EXPECT_THAT(refused("[scalar.dye]\nwave = [2, 0, 0]\n"), HasSubstr("no effect where `amplitude` is 0"));
  for (const std::string kind : {"frozen", "power"}) {
    const std::string forcing = "[forcing]\nkind = \"" + kind + "\"\n";
    EXPECT_THAT(refused(forcing + "[initial]\nflow = \"rest\"\n"), HasSubstr("does nothing to a flow at rest"));
    EXPECT_THAT(refused(forcing + "[initial]\nspeed = 0.0\n"), HasSubstr("does nothing to a flow at rest"));
    EXPECT_EQ(refused(forcing), "accepted");
  }
  EXPECT_EQ(refused("[forcing]\nkind = \"stochastic\"\n[initial]\nflow = \"rest\"\n"), "accepted");
}

// A configuration with every default written out, as a run leaves it, is the same one.
TEST_F(Turbulence, TakesItsOwnResolvedConfiguration) {
  for (const std::string flow : {"rest", "random", "abc"}) {
    const auto first = test::configuration_of(known, "[mesh]\ncells = [8, 8, 8]\nblock = 8\n[initial]\nflow = \"" +
                                                         flow + "\"\n[scalar.dye]\nschmidt = 2.0\n");
    EXPECT_EQ(sims::read_run(core::parse_toml(first.resolved, "config.toml"), true, known).resolved, first.resolved);
  }
}

TEST_F(Turbulence, RefusesWavesThatAreNotKept) {
  const auto refused = [](const std::string& rest) {
    return problem_of([&] {
      test::configuration_of(known, "[mesh]\ncells = [16, 16, 16]\nblock = 8\n" + rest).plan->check_start(true);
    });
  };
  const auto flow = [&](const std::string& name, const std::string& wave, const std::string& more = "") {
    return refused("[initial]\nflow = \"" + name + "\"\nwave = " + wave + "\n" + more);
  };
  using testing::HasSubstr;
  EXPECT_EQ(flow("taylor-green", "[5, -5, 1]"), "accepted");
  EXPECT_THAT(flow("taylor-green", "[6, 1, 1]"),
              HasSubstr("6 whole waves along x are more than the 5 that 16 cells keep"));
  EXPECT_THAT(flow("taylor-green", "[1, 0, 1]"), HasSubstr("has no wave along y"));
  EXPECT_THAT(flow("taylor-green", "[1, 1, 0]"), HasSubstr("has no wave along z"));
  EXPECT_EQ(flow("taylor-green-2d", "[1, 1, 0]"), "accepted");
  EXPECT_THAT(flow("abc", "[1, 1, -6]"), HasSubstr("6 whole waves along z"));
  EXPECT_EQ(flow("helical-wave", "[0, -1, 2]"), "accepted");
  EXPECT_THAT(flow("helical-wave", "[0, 0, 0]"), HasSubstr("has no wave"));
  const std::string shifted = "[turbulence]\ndealiasing = \"phase-shift\"\n";
  EXPECT_THAT(flow("taylor-green", "[7, 7, 7]", shifted), HasSubstr("outside of the ellipsoid"));
  EXPECT_EQ(flow("abc", "[7, 7, 7]", shifted), "accepted");
  EXPECT_THAT(refused("[scalar.dye]\namplitude = 1.0\nwave = [0, 0, 0]\n"), HasSubstr("a cosine without a wave"));
  EXPECT_THAT(refused("[scalar.dye]\namplitude = 1.0\nwave = [0, 9, 0]\n"), HasSubstr("9 whole waves along y"));
}

TEST_F(Turbulence, BeginsWithTheFormulaForWavesOfAnyLengthAndSign) {
  int number = 0;
  const auto energy = [&](const std::string& initial, const std::string& cells, const std::string& length) {
    const std::string name = "flow" + std::to_string(++number);
    run("[run]\nmax_steps = 0\n[mesh]\ncells = " + cells + "\nblock = 8\n[turbulence]\nlength = " + length +
            "\n[initial]\n" + initial,
        name);
    return last_event(name).at("energy").get<double>();
  };
  const std::string cube = "[16, 16, 16]", sides = "[6.0, 6.0, 6.0]";
  // <u^2> = <v^2> = 1/8 for equal waves.
  EXPECT_NEAR(energy("wave = [1, 1, 1]\n", cube, sides), 0.125, 1e-14);
  EXPECT_NEAR(energy("wave = [-1, 1, 1]\n", cube, sides), 0.125, 1e-14);
  EXPECT_NEAR(energy("wave = [1, 2, 3]\n", cube, sides), (1.0 + 0.25) / 16.0, 1e-14);
  EXPECT_NEAR(energy("wave = [1, 1, 1]\n", cube, "[3.0, 6.0, 4.0]"), (1.0 + 4.0) / 16.0, 1e-13);
  EXPECT_NEAR(energy("flow = \"taylor-green-2d\"\nwave = [2, -1, 0]\n", cube, sides), (1.0 + 4.0) / 8.0, 1e-13);
  EXPECT_NEAR(energy("flow = \"helical-wave\"\nwave = [1, 2, 1]\n", "[16, 16, 1]", sides), 0.5, 1e-14);
}

TEST_F(Turbulence, WarnsOnceOfAFlowThatIsNotResolved) {
  const std::string mesh = "[mesh]\ncells = [16, 16, 16]\nblock = 8\n[run]\nmax_steps = 3\n[turbulence]\n";
  run(mesh + "viscosity = 1e-3\n", "coarse");
  run(mesh + "viscosity = 1.0\n", "fine");

  const auto warnings = test::events(folder / "coarse", "warning");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0].at("message").get<std::string>(), testing::HasSubstr("the flow is not resolved: kmax_eta"));
  EXPECT_EQ(warnings[0].at("step"), 0);
  EXPECT_TRUE(test::events(folder / "fine", "warning").empty());
}

TEST_F(Turbulence, RefusesAStateOfAfterItsEnd) {
  const std::string config = "[mesh]\ncells = [8, 8, 8]\nblock = 8\n[turbulence]\nviscosity = 1.0\ndt = 0.1\nend = ";
  run(config + "0.4\n[output]\ncheckpoint = { format = \"raw\", at_end = true }\n", "long");
  const std::string file = io::generations_in(folder / "long").front().path;

  const std::string from = problem_of([&] { run(config + "0.3\n", "short", {.file = file}); });
  const std::string restart = problem_of([&] { run(config + "0.3\n", "long", {.existing = io::ExistingRun::resume}); });

  for (const std::string& problem : {from, restart})
    EXPECT_THAT(problem, testing::HasSubstr("the state is of the time 0.4, after the end of the run at 0.3"));
  EXPECT_EQ(problem_of([&] { run(config + "0.4\n", "same", {.file = file}); }), "accepted");
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
