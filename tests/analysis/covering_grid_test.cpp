#include "sidestream/analysis/covering_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"
#include "sidestream/analysis/power_spectrum.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using test::Grid;
using test::RefinedMesh;

constexpr mesh::Periodicity periodic{true, true, true};

double density(int level, Int3 cell) {
  return std::exp(5 * test::noise(7, level, cell));
}

mesh::Snapshot snapshot_of(const RefinedMesh& mesh, int rank) {
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry;
  snapshot.levels = mesh.levels;
  snapshot.add({"total_density", "1"}, test::leaves_of(mesh, rank, density));
  return snapshot;
}

// Each cell of the field differs from the same of the grid by no more than the relative tolerance.
void expect_near(const ScalarView& field, const Grid& grid, double tolerance) {
  ASSERT_EQ(field.layout().domain(), grid.domain());
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      EXPECT_NEAR(view(k, j, i), grid(k, j, i), tolerance * grid(k, j, i)) << k << " " << j << " " << i;
    });
}

TEST(CoveringGrid, OfTheFinestLevelHasTheValuesOfTheLeaves) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const Int3 cells : {Int3{16, 8, 8}, Int3{8, 16, 1}, Int3{4, 4, 12}}) {
    const RefinedMesh mesh = test::random_mesh(cells, 4, 2, periodic, world.size(), 6);

    const ScalarView field = covering_field(world, snapshot_of(mesh, world.rank()), "total_density", 2);

    expect_near(field, test::spread(mesh, density), 0.0);
  }
}

TEST(CoveringGrid, OfACoarserLevelHasAverages) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const Int3 cells : {Int3{16, 8, 8}, Int3{8, 16, 1}})
    for (int level = 0; level < 3; ++level) {
      const RefinedMesh mesh = test::random_mesh(cells, 4, 3, periodic, world.size(), 8);

      const ScalarView field = covering_field(world, snapshot_of(mesh, world.rank()), "total_density", level);

      expect_near(field, test::averaged(test::spread(mesh, density), 3 - level), 1e-13);
    }
}

TEST(CoveringGrid, DoesNotDependOnTheRanks) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 2, 3, periodic, world.size(), 9);
  const RefinedMesh same = test::random_mesh({8, 8, 8}, 2, 3, periodic, 1, 9);

  const ScalarView together = covering_field(world, snapshot_of(mesh, world.rank()), "total_density", 0);

  const ScalarView alone = covering_field(self, snapshot_of(same, 0), "total_density", 0);
  const Grid grid = Grid::of({8, 8, 8}, [view = alone.view(0)](int k, int j, int i) { return view(k, j, i); });
  expect_near(together, grid, 0.0);
}

TEST(CoveringGrid, KeepsAConstant) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 4, periodic, world.size(), 2);
  mesh::Snapshot snapshot = snapshot_of(mesh, world.rank());
  snapshot.add({"constant", "1"}, test::leaves_of(mesh, world.rank(), [](int, Int3) { return 0.1; }));
  for (int level = 0; level < 5; ++level) {
    const ScalarView field = covering_field(world, snapshot, "constant", level);

    expect_near(field, Grid(field.layout().domain().extent(), 0.1), 0.0);
  }
}

TEST(CoveringGrid, OfAUniformSnapshotIsItsField) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({8, 8, 8}, periodic, world.size(), 5, 1);
  auto snapshot = test::snapshot_on(layout, 1.0);
  snapshot.add({"density", "1"}, test::random_field({8, 8, 8}, 3).on(layout, world.rank()));

  EXPECT_EQ(covering_field(world, snapshot, "density", 0).table(), snapshot.field("density").table());
  EXPECT_EQ(covering_field(world, snapshot, "density", 1).layout().domain().extent(), (Int3{16, 16, 16}));
}

TEST(CoveringGrid, ThatWouldNotFitIsRefusedWithAnEstimate) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 1, periodic, world.size(), 2);
  const auto snapshot = snapshot_of(mesh, world.rank());

  try {
    test::analysis_of("analysis = 'power_spectrum'\nlevel = 9")->run(world, snapshot);
    FAIL() << "nothing was thrown";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("level 9 has 6.87e+10 cells"));
    EXPECT_THAT(error.hint(), testing::HasSubstr("GiB"));
  }
}

TEST(RefinedPowerSpectrum, OfALevelIsThatOfItsCoveringGrid) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 2, periodic, world.size(), 6);
  const Grid finest = test::spread(mesh, density);
  for (int level = 0; level < 3; ++level) {
    const Grid grid = test::averaged(finest, 2 - level);
    const auto expected = power_spectrum(self, grid.on(test::one_box(grid.cells), 0), mesh.geometry.refined(level));

    const auto result =
        test::analysis_of("analysis = 'power_spectrum'\ndeconvolve = []\nlevel = " + std::to_string(level))
            ->run(world, snapshot_of(mesh, world.rank()));

    if (world.rank() != 0) continue;
    EXPECT_EQ(std::get<std::int64_t>(result.attributes.at("level")), level);
    EXPECT_EQ(test::integers(result, "modes"), expected.modes);
    EXPECT_EQ(test::numbers(result, "k"), expected.k);
    for (std::size_t s = 0; s < expected.k.size(); ++s)
      EXPECT_NEAR(test::numbers(result, "total_density_power")[s], expected.power[s],
                  (level == 2 ? 0.0 : 1e-11) * expected.power[s]);
  }
}

}  // namespace
}  // namespace sidestream::analysis
