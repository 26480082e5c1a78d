#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "sidestream/core/error.hpp"
#include "sidestream/io/generations.hpp"
#include "sidestream/sims/run.hpp"
#include "support/checkpoint_formats.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::sims {
namespace {

using testing::HasSubstr;

// Gas, dark matter and two levels of refinement.
std::string universe(const std::string& rest) {
  return "simulation = \"cosmology\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n"
         "[cosmology]\nbox = \"40 Mpc\"\nz_start = 14\nz_end = 5\n[heating]\nuv_background = \"onorbe17_middle\"\n"
         "[amr]\nmax_level = 1\n[refine.dense]\ncriterion = \"threshold\"\nfield = \"gas_overdensity\"\n"
         "refine_above = 1.05\ncoarsen_below = 0.5\n" +
         rest;
}
std::string blast(int block, const std::string& rest) {
  return "simulation = \"sedov\"\n[mesh]\ncells = [32, 32, 1]\nblock = " + std::to_string(block) +
         "\n[amr]\nmax_level = 1\n[refine.blast]\ncriterion = \"loehner\"\nfield = \"pressure\"\n" + rest;
}
// Gas with gravity of its own, in empty space.
std::string sphere(const std::string& rest) {
  return "simulation = \"hydrostatic_sphere\"\n[mesh]\ncells = [24, 24, 24]\nblock = 8\n[amr]\nmax_level = 1\n"
         "buffer = 0\n[refine.core]\ncriterion = \"region\"\nlower = [4, 4, 4]\nupper = [8, 8, 8]\nmax_level = 1\n" +
         rest;
}
std::string output(const std::string& format, const std::string& rest = "") {
  return "[output]\ncheckpoint = { format = \"" + format + "\", every = 2, keep = 3" + rest + " }\n";
}
std::string limit(int steps) {
  return "[run]\nmax_steps = " + std::to_string(steps) + "\n";
}

class Restart : public testing::Test {
 protected:
  RunStatus run_on(int ranks, const std::string& text, const std::string& name, const RunStart& start = {}) {
    const comm::Communicator some = world.split(world.rank() < ranks ? 0 : -1);
    RunStatus status = RunStatus::finished;
    if (!some.is_empty())
      status = sims::run(some, read_run(core::parse_toml(text, "run.toml")), folder / name, start, {});
    world.barrier();
    return status;
  }
  RunStatus run(const std::string& text, const std::string& name, const RunStart& start = {}) {
    return run_on(world.size(), text, name, start);
  }
  std::string newest(const std::string& name) const { return io::generations_in(folder / name).front().path; }
  void damage(const std::string& path) const {
    if (world.rank() == 0) std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    world.barrier();
  }

  comm::Communicator world{MPI_COMM_WORLD};
  test::SharedFolder folder{world};
};

class RestartFrom : public Restart, public testing::WithParamInterface<std::string> {
 protected:
  using State = std::map<std::string, std::string>;

  // By name.
  static std::map<std::string, std::string> problems() {
    return {{"universe", universe("")}, {"blast", blast(8, "")}, {"sphere", sphere("")}};
  }

  // What four steps without a stop lead to. Made once for all formats.
  const State& undisturbed(const std::string& name) {
    static std::map<std::string, State> states;
    if (!states.contains(name)) {
      run(problems().at(name) + limit(4) + output("sidestream"), "whole " + name);
      states[name] = test::state_bytes(newest("whole " + name));
    }
    return states.at(name);
  }
};

TEST_P(RestartFrom, TwoStepsAndTwoOnOtherRanksAreFourToTheBit) {
  for (const auto& [name, problem] : problems()) {
    const State& expected = undisturbed(name);
    run(problem + limit(2) + output(GetParam()), name);

    run_on(std::max(1, world.size() - 1), problem + limit(4) + output(GetParam()), name, {io::ExistingRun::resume});

    EXPECT_GT(expected.size(), 10u);
    const State found = test::state_bytes(newest(name));  // and what readers of the format look for
    EXPECT_TRUE(std::ranges::includes(found, expected)) << name;
    world.barrier();
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(EveryFormat, RestartFrom,
                         testing::ValuesIn(test::checkpoint_formats({"sidestream", "nyx", "enzo-hdf5"})), name_of);

TEST_F(Restart, AsynchronousCheckpointsAreTheSame) {
  run(universe(limit(4) + output("sidestream")), "here");
  run(universe(limit(4) + output("sidestream", ", asynchronous = true")), "behind");

  EXPECT_EQ(test::events(folder / "behind", "checkpoint").size(), 2u);
  EXPECT_TRUE(test::state_bytes(newest("here")) == test::state_bytes(newest("behind")));
}

TEST_F(Restart, ADamagedCheckpointIsNamedAndTheOneBeforeTaken) {
  run(blast(8, limit(4) + output("sidestream")), "a");
  damage(newest("a"));

  run(blast(8, limit(6) + output("sidestream")), "a", {io::ExistingRun::resume});

  const auto skipped = test::events(folder / "a", "checkpoint_skipped");
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_THAT(skipped[0].at("path").get<std::string>(), HasSubstr("chk00004"));
  EXPECT_THAT(test::events(folder / "a", "restart").back().at("path").get<std::string>(), HasSubstr("chk00002"));
}

TEST_F(Restart, WithoutAnyGoodCheckpointTheNewestOnesFaultIsTold) {
  run(blast(8, limit(2) + output("sidestream")), "a");
  damage(newest("a"));

  try {
    run(blast(8, limit(4) + output("sidestream")), "a", {io::ExistingRun::resume});
    ADD_FAILURE() << "the run went on";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("no good checkpoint"));
    EXPECT_THAT(error.hint(), HasSubstr("chk00002"));
  }
}

class RestartOfAHeatedRun : public Restart {
 protected:
  void SetUp() override {
    write_table(1e-13);
    run("simulation = \"cosmology\"\n" + box("", heating()), "a");
  }

  void write_table(double rate) const {
    if (world.rank() == 0)
      std::ofstream(folder / "rates.txt") << "0.0 " << rate << " 1e-13 1e-13 1e-25 1e-25 1e-25\n0.9 0 0 0 0 0 0\n";
    world.barrier();
  }
  std::string heating(const std::string& more = "", const std::string& table = "rates.txt") const {
    return "[heating]\nuv_background = \"" + folder / table + "\"\n" + more;
  }
  static std::string box(const std::string& cosmology, const std::string& heating, int steps = 2) {
    return limit(steps) +
           "[mesh]\ncells = [8, 8, 8]\nblock = 8\n[cosmology]\nbox = \"40 Mpc\"\nz_start = 14\nz_end = 5\n" +
           cosmology + heating + output("sidestream");
  }
  // What is wrong with going on for two more steps; "none" where it was done.
  std::string problem(const std::string& text) {
    try {
      run("simulation = \"cosmology\"\n" + text, "a", {io::ExistingRun::resume});
    } catch (const core::Error& error) {
      return error.message();
    }
    return "none";
  }
};

TEST_F(RestartOfAHeatedRun, IntoOtherPhysicsIsRefused) {
  const auto keep_of = [](const std::string& key, const std::string& was, const std::string& wanted) {
    return HasSubstr("`" + key + "` is " + was + " in the checkpoint, " + wanted + " in the configuration");
  };
  EXPECT_THAT(problem(box("", "", 4)), keep_of("heating.rates", "lukic2015", "nothing"));
  EXPECT_THAT(problem(box("", "[heating]\nuv_background = \"hm2012\"\n", 4)), HasSubstr("hm2012"));
  EXPECT_THAT(problem(box("", heating("rates = \"katz1996\"\n"), 4)),
              keep_of("heating.rates", "lukic2015", "katz1996"));
  EXPECT_THAT(problem(box("", heating("self_shielding = true\n"), 4)),
              keep_of("heating.self_shielding", "false", "true"));
  EXPECT_THAT(problem(box("", heating("heating_factor = 1.5\n"), 4)), keep_of("heating.heating_factor", "1", "1.5"));
  EXPECT_THAT(problem(box("wdm_mass = \"2 keV\"\n", heating(), 4)), keep_of("cosmology.wdm_mass", "nothing", "2 keV"));
  EXPECT_THAT(problem(box("t_cmb = 2.7\n", heating(), 4)), keep_of("cosmology.t_cmb", "2.7255", "2.7"));
  write_table(2e-13);
  EXPECT_THAT(problem(box("", heating(), 4)), HasSubstr("rates.txt"));
}

TEST_F(RestartOfAHeatedRun, GoesOnWithATableThatWasMoved) {
  if (world.rank() == 0) {
    std::filesystem::create_directory(folder / "tables");
    std::filesystem::rename(folder / "rates.txt", folder / "tables/rates.txt");
  }
  world.barrier();

  EXPECT_EQ(problem(box("", heating("", "tables/rates.txt"), 4)), "none");
}

TEST_F(Restart, BlocksOfAnotherSizeHoldTheSameState) {
  run(blast(8, limit(4) + output("sidestream")), "a");
  const std::string from = newest("a");

  run(blast(16, limit(5)), "b", {io::ExistingRun::refuse, from});

  const auto events = test::events(folder / "b", "run_end");
  EXPECT_EQ(events.back().at("step"), 5);
  EXPECT_LT(events.back().at("mass_error").get<double>(), 1e-12);
  EXPECT_LT(events.back().at("energy_error").get<double>(), 1e-12);
}

TEST_F(Restart, APlotFileIsAStateToBeginWith) {
  run(universe(limit(3) + "[output]\nplotfile = { format = \"nyx\", every = 3 }\n"), "a");

  run(universe(limit(5)), "b", {io::ExistingRun::refuse, folder / "a/plt00003"});

  const auto first = test::events(folder / "b", "step").front(), before = test::events(folder / "a", "step").back();
  EXPECT_EQ(first.at("step"), 3);
  EXPECT_NEAR(first.at("redshift").get<double>(), before.at("redshift").get<double>(), 1e-12);
  EXPECT_EQ(first.at("particles"), before.at("particles"));
  EXPECT_LT(test::events(folder / "b", "run_end").back().at("gas_mass_error").get<double>(), 1e-12);
}

TEST_F(Restart, DensityVelocitiesAndPressureAreAStateToBeginWith) {
  run(blast(8, limit(3) + "[output]\nplotfile = { format = \"flash\", every = 3, variables = [\"density\", "
                          "\"x_velocity\", \"y_velocity\", \"z_velocity\", \"pressure\"] }\n"),
      "a");
  const std::string plot = (folder / "a") + "/" + io::formats().named("flash").plotfile->of(3);

  run(blast(8, limit(3) + output("sidestream")), "b", {io::ExistingRun::refuse, plot});
  run(blast(8, limit(3) + output("sidestream")), "c");

  const auto found = io::open_snapshot_file(newest("b")), expected = io::open_snapshot_file(newest("c"));
  for (const char* name : {"density", "xmom", "rho_E", "rho_e"}) {
    mesh::Field<double> a(found->description().state.levels.back(), 0),
        b(expected->description().state.levels.back(), 0);
    found->read_field(name, a, found->description().state.levels.back().level());
    expected->read_field(name, b, expected->description().state.levels.back().level());
    for (std::size_t i = 0; i < a.all().size(); ++i)
      ASSERT_NEAR(a.all()[i], b.all()[i], 1e-13 * (1.0 + std::abs(b.all()[i]))) << name;
  }
}

TEST_F(Restart, AFileWithOtherCellsIsRefusedWithBothNumbers) {
  run(blast(8, limit(2) + output("sidestream")), "a");

  try {
    run("simulation = \"sedov\"\n[mesh]\ncells = [16, 16, 1]\nblock = 8\n", "b",
        {io::ExistingRun::refuse, newest("a")});
    ADD_FAILURE() << "the run began";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), testing::AllOf(HasSubstr("32"), HasSubstr("16")));
    EXPECT_THAT(error.hint(), HasSubstr("mesh.cells"));
  }
}

}  // namespace
}  // namespace sidestream::sims
