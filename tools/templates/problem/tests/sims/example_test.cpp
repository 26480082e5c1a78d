#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/problems/gas_problem.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::sims {
namespace {

TEST(Example, LevelsOfTheBeginningAgree) {
  core::Node resolved;
  const GasProblemEntry& entry = gas_problems().named("example");
  const GasProblem problem = entry.read(core::parse_toml("", "run.toml"), {12, 1, 1}, entry.standard, resolved);
  const mesh::Geometry fine = problem.geometry.refined(1);
  for (int i = 0; i < 12; ++i) {
    const GasCell whole = problem.initial(problem.geometry, {i, 0, 0}, fine);
    const GasCell left = problem.initial(fine, {2 * i, 0, 0}, fine), right = problem.initial(fine, {2 * i + 1, 0, 0}, fine);
    EXPECT_NEAR(whole[solvers::density], 0.5 * (left[solvers::density] + right[solvers::density]), 1e-14);
  }
}

// Once round the box, and the error against the exact solution falls with the size of the cells.
TEST(Example, ComesNearTheExactSolution) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::SharedFolder folder(world);
  const auto error = [&](int cells) {
    const std::string name = std::to_string(cells);
    const std::string text = "simulation = \"example\"\n[mesh]\ncells = [" + name + ", 8, 1]\nblock = 8\n";
    run(world, read_run(core::parse_toml(text, "run.toml")), folder / name, {}, {});
    world.barrier();
    const auto end = test::events(folder / name, "run_end").at(0);
    EXPECT_LT(end.at("mass_error").get<double>(), 1e-12);
    return end.at("density_l1_error").get<double>();
  };

  const double coarse = error(16), fine = error(32);

  EXPECT_GT(coarse, 0.0);
  EXPECT_LT(coarse, 0.5);
  EXPECT_LT(fine, 0.8 * coarse);
}

TEST(Example, RefusesWhatItCannotDo) {
  EXPECT_THROW(read_run(core::parse_toml("simulation = \"example\"\n[mesh]\ncells = [16, 1, 1]\nblock = 8\n[example]\n"
                                         "contrast = 0.0\n",
                                         "run.toml")),
               core::Error);
}

}  // namespace
}  // namespace sidestream::sims
