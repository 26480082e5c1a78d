#include "sims/checks/same_physics.hpp"

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

Physics physics_of_run(const std::string& simulation, const std::string& mesh, const std::string& more = "") {
  return physics_of(read_run(
      core::parse_toml("simulation = \"" + simulation + "\"\n[mesh]\n" + mesh + "\nblock = 8\n" + more, "run.toml")));
}

TEST(SamePhysics, TheEngineIsKeptWhereverStepsDependOnTransforms) {
  const std::string cube = "cells = [16, 16, 16]", universe = "[cosmology]\nbox = \"10 Mpc\"\n";
  for (const Physics& transforming :
       {physics_of_run("turbulence", cube), physics_of_run("cosmology", cube, universe),
        physics_of_run("nbody", cube, universe), physics_of_run("hydrostatic_sphere", cube)})
    EXPECT_EQ(transforming.at(fft_engine_key), fft::engine);
  EXPECT_FALSE(physics_of_run("sod", "cells = [16, 1, 1]").contains(fft_engine_key));
}

}  // namespace
}  // namespace sidestream::sims
