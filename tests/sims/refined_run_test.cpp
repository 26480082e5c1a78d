#include <nlohmann/json.hpp>
// What a configuration may not ask of a refined mesh, and how a run ends that would grow beyond its blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sidestream/core/error.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/run_in_folder.hpp"
#include "support/rejection.hpp"
#include "support/run_files.hpp"

namespace sidestream::sims {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string mesh = "simulation = \"sod\"\n[mesh]\ncells = [32, 1, 1]\nblock = 8\n";
const std::string shocks = "[refine.shocks]\ncriterion = \"loehner\"\nfield = \"gas_density\"\n";

core::Error error_of(const std::string& config) {
  return test::rejection_of(config, [](const std::string& text) { read_run(core::parse_toml(text, "run.toml")); });
}

TEST(RefinedConfig, FinerLevelsNeedARuleThatAsksForThem) {
  const core::Error error = error_of(mesh + "[amr]\nmax_level = 2\n");

  EXPECT_THAT(error.where(), AllOf(HasSubstr("run.toml:6"), HasSubstr("amr.max_level")));
  EXPECT_THAT(error.message(), HasSubstr("where to refine"));
  EXPECT_THAT(error.hint(), HasSubstr("[refine."));
}

TEST(RefinedConfig, RulesNeedFinerLevels) {
  const core::Error error = error_of(mesh + shocks);

  EXPECT_THAT(error.where(), HasSubstr("refine"));
  EXPECT_THAT(error.hint(), HasSubstr("`amr.max_level`"));
}

TEST(RefinedConfig, LevelsAllRefinedNeedNoRule) {
  EXPECT_NO_THROW(read_run(core::parse_toml(mesh + "[amr]\nmin_level = 2\nmax_level = 2\n", "run.toml")));
}

TEST(RefinedConfig, CriteriaLookAtFieldsThatThereAre) {
  const core::Error error =
      error_of(mesh + "[amr]\nmax_level = 2\n[refine.shocks]\ncriterion = \"loehner\"\nfield = \"gas_densty\"\n");

  EXPECT_THAT(error.where(), HasSubstr("refine.shocks"));
  EXPECT_THAT(error.message(), HasSubstr("`gas_densty`"));
  EXPECT_THAT(error.hint(), HasSubstr("`gas_density`"));
}

TEST(RefinedConfig, CriteriaLookAtWhatFollowsFromWhatTheySee) {
  const std::string box =
      "simulation = \"cosmology\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[cosmology]\nbox = \"10 "
      "Mpc\"\n[amr]\nmax_level = 1\n[refine.one]\ncriterion = \"threshold\"\nfield = \"mine\"\n"
      "refine_above = 2\ncoarsen_below = 1\n[quantity.mine]\nexpression = ";
  EXPECT_NO_THROW(read_run(core::parse_toml(box + "\"2 * gas_overdensity / redshift\"\n", "run.toml")));

  for (const std::string unseen : {"potential", "total_density"}) {
    const core::Error error = error_of(box + "\"2 * " + unseen + "\"\n");
    EXPECT_THAT(error.where(), HasSubstr("refine.one"));
    EXPECT_THAT(error.message(), HasSubstr("`" + unseen + "`, which criteria cannot see"));
  }
}

TEST(RefinedConfig, LevelsAreAsManyAsAnAxisCanHave) {
  const std::string wide = "simulation = \"sod\"\n[mesh]\ncells = [1048576, 1, 1]\nblock = 8\n";
  const core::Error error = error_of(wide + "[amr]\nmax_level = 12\n" + shocks);

  EXPECT_THAT(error.where(), HasSubstr("amr.max_level"));
  EXPECT_THAT(error.message(), HasSubstr("more than an axis can have"));
  EXPECT_THAT(error_of(mesh + "[amr]\nmax_level = 21\n" + shocks).where(), HasSubstr("amr.max_level"));
}

TEST(RefinedConfig, BlocksOfOddSizeAreNotRefined) {
  const std::string odd = "simulation = \"sod\"\n[mesh]\ncells = [27, 1, 1]\nblock = 9\n";

  EXPECT_NO_THROW(read_run(core::parse_toml(odd, "run.toml")));
  EXPECT_THAT(error_of(odd + "[amr]\nmax_level = 1\n" + shocks).message(), HasSubstr("9 cells cannot be halved"));
}

TEST(RefinedConfig, TheLowestLevelIsNotAboveTheHighest) {
  const core::Error error = error_of(mesh + "[amr]\nmin_level = 3\nmax_level = 2\n" + shocks);

  EXPECT_THAT(error.where(), HasSubstr("amr.min_level"));
  EXPECT_THAT(error.message(), AllOf(HasSubstr("3"), HasSubstr("2")));
}

/// A blast in the plane on which the mesh grows as the shock runs outward.
std::string blast(std::int64_t max_blocks, const std::string& rest = "") {
  return "simulation = \"sedov\"\n[mesh]\ncells = [32, 32, 1]\nblock = 8\n[sedov]\nend = 0.02\n[amr]\nmax_level = "
         "2\nmax_blocks = " +
         std::to_string(max_blocks) + "\n[refine.blast]\ncriterion = \"loehner\"\nfield = \"pressure\"\n" + rest;
}

class RefinedRun : public test::RunInFolder {
 protected:
  nlohmann::json end_of(const std::string& name) { return test::events(folder / name, "run_end").back(); }
};

TEST_F(RefinedRun, AMeshThatIsTooLargeAtTheStartIsRefusedWithItsSize) {
  try {
    run(blast(17), "a");
    ADD_FAILURE() << "the run began";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), AllOf(HasSubstr("would grow to"), HasSubstr("GiB"), HasSubstr("allows 17 blocks")));
    EXPECT_THAT(error.hint(), HasSubstr("`amr.max_blocks`"));
  }
}

TEST_F(RefinedRun, AMeshThatOutgrowsItsBlocksEndsTheRunWithACheckpointToGoOnFrom) {
  ASSERT_EQ(run(blast(10000), "whole"), RunStatus::finished);
  const nlohmann::json whole = end_of("whole");

  EXPECT_EQ(run(blast(60), "a"), RunStatus::stopped);

  const nlohmann::json stopped = end_of("a");
  EXPECT_EQ(stopped.at("status"), "stopped");
  EXPECT_THAT(stopped.at("reason").get<std::string>(), HasSubstr("allows 60 blocks"));
  EXPECT_GT(stopped.at("step"), 0);
  EXPECT_LT(stopped.at("progress"), 1.0);

  EXPECT_EQ(run(blast(10000), "a", io::ExistingRun::resume), RunStatus::finished);

  const nlohmann::json resumed = end_of("a");
  for (const char* key : {"step", "time", "blocks", "shock_radius", "density_l1_error", "energy_error"})
    EXPECT_EQ(resumed.at(key), whole.at(key)) << key;
}

TEST_F(RefinedRun, AQuantityThatIsDerivedRefinesAsTheOneThatItEquals) {
  ASSERT_EQ(run(blast(10000), "stored"), RunStatus::finished);
  const std::string derived =
      "simulation = \"sedov\"\n[mesh]\ncells = [32, 32, 1]\nblock = 8\n[sedov]\nend = 0.02\n"
      "[amr]\nmax_level = 2\nmax_blocks = 10000\n[refine.blast]\ncriterion = \"loehner\"\n"
      "field = \"squeezed\"\n[quantity.squeezed]\nexpression = \"half + half\"\n"
      "[quantity.half]\nexpression = \"0.5 * pressure\"\n";
  ASSERT_EQ(run(derived, "derived"), RunStatus::finished);

  const nlohmann::json stored = end_of("stored");
  for (const char* key : {"step", "time", "blocks", "cell_updates", "shock_radius", "density_l1_error", "energy_error"})
    EXPECT_EQ(end_of("derived").at(key), stored.at(key)) << key;
}

TEST_F(RefinedRun, TheStepAtWhichItStopsIsToldAndAnalysedOnce) {
  const std::string task = "[task.pdf]\nanalysis = \"pdf\"\nfields = [\"gas_density\"]\nevery = 1\n";
  ASSERT_EQ(run(blast(60, task), "a"), RunStatus::stopped);

  std::vector<std::int64_t> steps;
  for (const auto& event : test::events(folder / "a", "step")) steps.push_back(event.at("step"));
  EXPECT_EQ(std::ranges::adjacent_find(steps), steps.end());
  EXPECT_EQ(end_of("a").at("tasks").at("pdf").at("count"), steps.size());
}

}  // namespace
}  // namespace sidestream::sims
