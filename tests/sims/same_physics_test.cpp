#include "sims/run/same_physics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sidestream/fft/engine.hpp"

namespace sidestream::sims {
namespace {

using Physics = std::map<std::string, std::string>;

const Physics now{{"simulation", "turbulence"}, {"turbulence.viscosity", "0.1"}, {fft_engine_key, "lines 2"}};

TEST(SamePhysics, AnotherEngineOfTransformsIsADifference) {
  Physics kept = now;
  EXPECT_EQ(differences(kept, now, {}), "");

  kept[fft_engine_key] = "lines 1";

  EXPECT_EQ(differences(kept, now, {}), "`fft.engine` is lines 1 in the checkpoint, lines 2 in the configuration");
  EXPECT_EQ(differences(kept, now, std::vector{fft_engine_key}), "");
}

TEST(SamePhysics, CheckpointsOfEarlierVersionsNameNoEngine) {
  Physics kept = now;
  kept.erase(fft_engine_key);

  EXPECT_EQ(differences(kept, now, {}), "");
}

TEST(SamePhysics, TheEngineOfTurbulenceIsTheOneThereIs) {
  const RunConfig config = read_run(
      core::parse_toml("simulation = \"turbulence\"\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[turbulence]\nend = 0.1\n"
                       "viscosity = 0.1\n",
                       "run.toml"));

  EXPECT_EQ(physics_of(config).at(fft_engine_key), fft::engine);
}

}  // namespace
}  // namespace sidestream::sims
