#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
#include "sidestream/io/generations.hpp"
#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::sims {
namespace {

class Example : public testing::Test {
 protected:
  // The state in the newest checkpoint of a run of so many steps, on so many ranks.
  std::map<std::string, std::string> state_after(int steps, int ranks, const std::string& name,
                                                 io::ExistingRun existing = io::ExistingRun::refuse) {
    const std::string text = "simulation = \"example\"\n[run]\nmax_steps = " + std::to_string(steps) +
                             "\n[mesh]\ncells = [64, 16, 1]\nblock = 8\n[example]\nend = 1.0\n"
                             "[output]\ncheckpoint = { at_end = true }\n";
    const comm::Communicator some = world.split(world.rank() < ranks ? 0 : -1);
    if (!some.is_empty()) run(some, read_run(core::parse_toml(text, "run.toml")), folder / name, {existing}, {});
    world.barrier();
    return test::state_bytes(io::generations_in(folder / name).front().path);
  }

  comm::Communicator world{MPI_COMM_WORLD};
  test::SharedFolder folder{world};
};

TEST_F(Example, HasTheSameBitsOnAnyRanksAndThroughARestart) {
  const auto alone = state_after(6, 1, "alone"), together = state_after(6, world.size(), "together");
  state_after(3, world.size(), "stopped");
  const auto restarted = state_after(6, std::max(1, world.size() - 1), "stopped", io::ExistingRun::resume);

  EXPECT_GT(alone.size(), 8U);
  EXPECT_TRUE(together == alone);
  EXPECT_TRUE(restarted == alone);
}

// A step multiplies the longest wave by 1 - 4 D dt / size^2 sin^2(pi / n); shorter ones are gone long before the end.
TEST_F(Example, SpreadsAsItShouldAndKeepsTheHeat) {
  const std::string text =
      "simulation = \"example\"\n[mesh]\ncells = [16, 1, 1]\nblock = 16\n[example]\nend = 0.1\n"
      "[task.heat]\nanalysis = \"slice\"\nfields = [\"heat\"]\nat_end = true\n";
  run(world, read_run(core::parse_toml(text, "run.toml")), folder / "a", {}, {});
  world.barrier();

  EXPECT_LT(test::events(folder / "a", "run_end").at(0).at("heat_error").get<double>(), 1e-13);
  const auto steps = static_cast<double>(test::events(folder / "a", "step").size() - 1);
  const mesh::Result result = io::read_result(io::RunFolder(folder / "a").result("heat", static_cast<std::int64_t>(steps)));
  const auto& values = std::get<std::vector<double>>(result.column("heat").values);
  const double sine = std::sin(M_PI / 16.0), last = 0.1 * 16.0 * 16.0 - (steps - 1.0) / 8.0;
  const double left = std::pow(1.0 - 0.5 * sine * sine, steps - 1.0) * (1.0 - 4.0 * last * sine * sine);
  // Of the step function of the beginning, on the lattice.
  const double amplitude = 1.0 / (4.0 * std::sin(M_PI / 16.0));
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], 1.0 - amplitude * left * std::cos(2.0 * M_PI * (static_cast<double>(i) + 0.5) / 16.0), 1e-9);
}

TEST_F(Example, RefusesWhatItCannotDo) {
  EXPECT_THROW(read_run(core::parse_toml("simulation = \"example\"\n[mesh]\ncells = [16, 1, 1]\nblock = 8\n[example]\n"
                                         "diffusivity = -1.0\n",
                                         "run.toml")),
               core::Error);
}

}  // namespace
}  // namespace sidestream::sims
