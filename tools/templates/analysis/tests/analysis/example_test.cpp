#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

constexpr mesh::Periodicity periodic{true, true, true};
const std::string task = "analysis = 'example'\nfield = 'gas_density'\nabove = 2.0";

TEST(Example, HasTheNumbersOfAPlainLoop) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 1, periodic, world.size(), 4);
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry;
  snapshot.levels = mesh.levels;
  const auto value = [](int level, mesh::Int3 cell) { return test::noise(1, level, cell) < 0.125 ? 4.0 : 0.5; };
  snapshot.add({"gas_density", "1"}, test::leaves_of(mesh, world.rank(), value));

  const mesh::Result result = test::analysis_of(task)->run(world, snapshot);

  if (world.rank() != 0) {
    EXPECT_TRUE(result.columns.empty());
    return;
  }
  const test::Grid finest = test::spread(mesh, value);
  const double mean = std::accumulate(finest.values.begin(), finest.values.end(), 0.0) / 4096.0;
  const auto above = std::ranges::count_if(finest.values, [&](double x) { return x > 2.0 * mean; });
  EXPECT_GT(above, 0);
  EXPECT_EQ(std::get<double>(result.attributes.at("mean")), mean);
  EXPECT_EQ(std::get<double>(result.attributes.at("volume_share")), static_cast<double>(above) / 4096.0);
}

TEST(Example, GivesTheSameBitsOnAnyLayout) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const mesh::Int3 cells{16, 12, 8};
  const auto alone = test::analysis_of(task)->run(self, test::cosmology_snapshot(test::one_box(cells), 0));
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const auto layout = test::random_layout(cells, periodic, world.size(), 1 + 9 * static_cast<int>(seed), seed);

    const auto together = test::analysis_of(task)->run(world, test::cosmology_snapshot(layout, world.rank()));

    if (world.rank() == 0) {
      EXPECT_TRUE(test::are_identical(together, alone)) << "seed " << seed;
    }
  }
}

TEST(Example, SaysWhatIsWrong) {
  EXPECT_THROW(test::analysis_of("analysis = 'example'\nabove = -1.0"), core::Error);
  EXPECT_THROW(test::analysis_of("analysis = 'example'\nfeild = 'gas_density'"), core::Error);
}

}  // namespace
}  // namespace sidestream::analysis
