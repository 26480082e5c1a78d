#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
#include "sidestream/sims/run.hpp"
#include "support/run_error.hpp"

namespace sidestream::sims {
namespace {

using testing::HasSubstr;

const std::string good =
    "simulation = \"cosmology\"\n[mesh]\ncells = [32, 32, 32]\nblock = 16\n[cosmology]\nbox = \"10 Mpc\"\n";

TEST(RunConfig, ASmallConfigurationIsEnough) {
  const RunConfig config = read_run(core::parse_toml(good, "run.toml"));
  EXPECT_EQ(config.plan->cells(), (mesh::Int3{32, 32, 32}));
  EXPECT_TRUE(config.plotfiles.empty());
}

TEST(RunConfig, TheResolvedTextReadsBackToItself) {
  const RunConfig config = read_run(core::parse_toml(good, "run.toml"));
  EXPECT_EQ(read_run(core::parse_toml(config.resolved, "config.toml")).resolved, config.resolved);
  EXPECT_THAT(config.resolved, HasSubstr("z_end"));
}

TEST(RunConfig, ATaskThatWritesReadsBackToItself) {
  const std::string text = good + "[task.thin]\nwrite = \"particles\"\nat_redshift = [3]\nparticle_share = 0.1\n" +
                           "[task.saved]\nwrite = \"checkpoint\"\nevery = 5\n" +
                           "[quantity.twice]\nexpression = \"2 * temperature\"\n";
  const RunConfig config = read_run(core::parse_toml(text, "run.toml"));
  ASSERT_EQ(config.plotfiles.size(), 1U);
  EXPECT_EQ(config.plotfiles.front().task, "thin");
  EXPECT_TRUE(config.plotfiles.front().file.quantities.empty());
  EXPECT_TRUE(config.checkpoint.has_value());
  EXPECT_TRUE(config.coupling.tasks.empty());

  EXPECT_EQ(read_run(core::parse_toml(config.resolved, "config.toml")).resolved, config.resolved);
}

TEST(RunConfig, BoxesInMpcOverHAreDividedByH) {
  const std::string text =
      "simulation = \"nbody\"\n[cosmology]\nbox = \"10 Mpc/h\"\nhubble = 0.5\npower = \"eisenstein-hu\"\n";
  const RunConfig config = read_run(core::parse_toml(text, "run.toml"));
  EXPECT_EQ(config.plan->description().at("box_mpc"), 20.0);
}

TEST(RunConfig, EachMistakeIsAnsweredWithItsPlaceAndARemedy) {
  const core::Error table = error_of(good + "[outptu]\n");
  EXPECT_THAT(table.where(), HasSubstr("run.toml:7"));
  EXPECT_THAT(table.hint(), HasSubstr("`output`"));

  const core::Error key = error_of(good + "sede = 3\n");
  EXPECT_THAT(key.hint(), HasSubstr("`seed`"));

  EXPECT_THAT(error_of("[mesh]\n").message(), HasSubstr("`simulation`"));
  EXPECT_THAT(error_of("simulation = \"cosmologie\"\n").hint(), HasSubstr("`cosmology`"));
  EXPECT_THAT(error_of("simulation = \"nbody\"\n").message(), HasSubstr("[cosmology]"));
  EXPECT_THAT(error_of("simulation = \"nbody\"\n[cosmology]\nbox = 10\n").message(), HasSubstr("no unit"));
  EXPECT_THAT(error_of("simulation = \"nbody\"\n[cosmology]\nbox = \"10 Mps\"\n").message(), HasSubstr("Mps"));
  EXPECT_THAT(error_of("simulation = \"nbody\"\n[cosmology]\nseed = 1\n").message(), HasSubstr("`box`"));
  EXPECT_THAT(error_of(good + "z_end = 60\n").message(), HasSubstr("starts at"));
  EXPECT_THAT(error_of(good + "particles = [8, 8, 8]\n").message(), HasSubstr("one particle for each cell"));
  for (const char* random : {"[3, 0, 0]", "[4, 0, 0]", "[1024, 1024, 1024]"})
    EXPECT_THAT(error_of(good + "random_lattice = " + random + "\n").where(), HasSubstr("random_lattice")) << random;
  EXPECT_EQ(error_of(good + "omega_b = 0.5\n").where(), "key `cosmology.omega_b`");
  EXPECT_THAT(error_of(good + "omega_m = 0.3\nomega_b = 0.3\n").message(), HasSubstr("no dark matter"));
  EXPECT_THAT(error_of(good + "omega_b = 0\n").message(), HasSubstr("there is no gas"));
  EXPECT_THAT(error_of(good + "wdm_mass = 2.1\n").message(), HasSubstr("no unit"));
  EXPECT_THAT(error_of(good + "wdm_mass = \"2.1 MeV\"\n").hint(), HasSubstr("keV"));
  EXPECT_THAT(error_of(good + "wdm_mass = \"0.01 keV\"\n").message(), HasSubstr("between 0.05 and 100"));
  EXPECT_THAT(error_of(good + "temperature_start = \"1e300 K\"\n").message(), HasSubstr("faster than light"));
  EXPECT_THAT(error_of(good + "temperature_start = \"9 K\"\n[hydro]\ntemperature_floor = \"10 K\"\n").message(),
              HasSubstr("begins with 9 K"));
  EXPECT_THAT(error_of(good + "[output]\nplotfile = { format = \"nyx\" }\n").message(), HasSubstr("never due"));
  EXPECT_THAT(error_of(good + "[output]\nplotfile = { format = \"nix\", every = 2 }\n").hint(), HasSubstr("\"nyx\""));
  EXPECT_THAT(error_of(good + "[task.h]\nanalysis = \"halo\"\nevery = 1\n").hint(), HasSubstr("halos"));
}

TEST(RunConfig, BlocksThatDoNotFitAreRefusedAtTheCells) {
  const core::Error error =
      error_of("simulation = \"nbody\"\n[mesh]\ncells = [40, 32, 32]\nblock = 16\n[cosmology]\nbox = \"1 Mpc\"\n");
  EXPECT_THAT(error.where(), HasSubstr("mesh.cells"));
  EXPECT_THAT(error.message(), HasSubstr("40 cells along x"));
}

TEST(RunConfig, ASpeciesThatThereIsNotIsRefusedWithThoseThatThereAre) {
  const core::Error output = error_of(good + "[output]\nplotfile = { every = 1, species = [\"stars\"] }\n");
  EXPECT_THAT(output.message(), HasSubstr("no species `stars`"));
  EXPECT_THAT(output.where(), HasSubstr("output.plotfile.species"));
  EXPECT_THAT(output.hint(), HasSubstr("dark_matter"));

  const core::Error task =
      error_of(good + "[task.h]\nanalysis = \"halos\"\nfinder = \"fof\"\nspecies = \"stars\"\nevery = 1\n");
  EXPECT_THAT(task.message(), HasSubstr("species `stars`"));
  EXPECT_THAT(task.where(), HasSubstr("task.h.species"));
  EXPECT_THAT(task.hint(), HasSubstr("dark_matter"));
}

TEST(RunConfig, RedshiftsMeanNothingToAShockTube) {
  EXPECT_THAT(
      error_of("simulation = \"sod\"\n[output]\nplotfile = { format = \"nyx\", at_redshift = [2] }\n").message(),
      HasSubstr("no redshift"));
}

TEST(RunConfig, LandsOnTheMomentsOfTasksAndOutputs) {
  const RunConfig config =
      read_run(core::parse_toml(good + "[task.h]\nanalysis = \"halos\"\nat_redshift = [2, 5]\n[output]\nplotfile = { "
                                       "format = \"nyx\", at_redshift = [3, 2] }\n",
                                "run.toml"));
  EXPECT_EQ(config.landings().redshifts, (std::vector<double>{2, 5, 3, 2}));
}

TEST(RunConfig, ImpossibleNumbersOfRanksAreRefused) {
  const RunConfig config = read_run(core::parse_toml(
      good + "[coupling]\nsidecars = 2\n[task.h]\nanalysis = \"halos\"\nevery = 2\ntransport = \"in-transit\"\n",
      "run.toml"));
  EXPECT_THROW(describe(config, 2), core::Error);
  EXPECT_EQ(describe(config, 4).at("compute"), 2);
}

TEST(RunConfig, WhatIsMoreThanTheRanksThatWriteIsToldBeforeWork) {
  const RunConfig config =
      read_run(core::parse_toml(good + "[output]\nplotfile = { format = \"nyx\", every = 1, files = 1000 }\n"
                                       "checkpoint = { every = 1, aggregators = 3 }\n",
                                "run.toml"));

  const auto two = describe(config, 2).at("warnings");

  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].at("message"), "`files = 1000` is more than the ranks that write: 2 are used");
  EXPECT_THAT(two[0].at("where").get<std::string>(), HasSubstr("output.plotfile"));
  EXPECT_EQ(two[1].at("message"), "`aggregators = 3` is more than the ranks that write: 2 are used");
  EXPECT_EQ(describe(config, 3).at("warnings").size(), 1u);
}

TEST(RunConfig, MethodsThatChooseTheirOwnWritersAreNotWarnedOf) {
  for (const auto& [method, warnings] :
       {std::pair("engine", 1u), std::pair("aggregated", 1u), std::pair("hdf5-collective", 0u)}) {
    const std::string output = "[output]\ncheckpoint = { every = 1, aggregators = 3, method = \"";
    const RunConfig config = read_run(core::parse_toml(good + output + method + "\" }\n", "run.toml"));

    EXPECT_EQ(describe(config, 2).at("warnings").size(), warnings) << method;
  }
}

}  // namespace
}  // namespace sidestream::sims
