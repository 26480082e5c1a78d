#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::sims {
namespace {

// The mesh is refined where hydrogen is neutral: criteria see what ionisation makes of the gas, ghost cells too.
TEST(HeatedRun, MeshesAreRefinedByItsQuantities) {
  const comm::Communicator world(MPI_COMM_WORLD);
  test::SharedFolder folder(world);
  const std::string refined =
      "simulation = \"cosmology\"\n[run]\nmax_steps = 2\n[mesh]\ncells = [16, 16, 16]\nblock = 8\n[cosmology]\nbox = "
      "\"64 Mpc\"\nz_start = 9\nz_end = 2\n[heating]\nuv_background = \"onorbe17_middle\"\n[amr]\nmax_level = "
      "1\nbuffer = 0\n[refine.neutral]\ncriterion = "
      "\"threshold\"\nfield = \"neutral_hydrogen\"\nrefine_above = 3.4e-4\ncoarsen_below = 1e-6\n";

  run(world, read_run(core::parse_toml(refined, "run.toml")), folder / "run", {}, {});

  if (world.rank() > 0) return;
  const int fine = test::events(folder / "run", "run_end").at(0).at("blocks").at(1);
  EXPECT_GT(fine, 0);
  EXPECT_LT(fine, 64);
}

}  // namespace
}  // namespace sidestream::sims
