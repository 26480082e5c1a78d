// One cell of any size leaves the results of all others as they are, to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"
#include "sidestream/analysis/covering_grid.hpp"
#include "sidestream/analysis/halos.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using test::Grid;
using test::numbers;

constexpr mesh::Periodicity periodic{true, true, true};
constexpr Int3 cells{16, 16, 16}, absurd_cell{3, 4, 5};  // x, y, z
constexpr std::array absurd_values{1e25, 1e300, 1e305};

// Halos of different sizes in emptiness of 1e-300, and one cell without neighbours in any.
Grid ordinary() {
  Grid grid = Grid::of(cells, [](int, int, int) { return 1e-300; });
  const auto halo = [&](Int3 at, int size) {
    for (int k = 0; k < size; ++k)
      for (int j = 0; j < size; ++j)
        for (int i = 0; i < size; ++i) grid(at.z + k, at.y + j, at.x + i) = 100.0 + 0.125 * i + 0.75 * j + 1.25 * k * k;
  };
  halo({9, 9, 9}, 4);
  halo({1, 10, 2}, 2);
  halo({14, 1, 1}, 1);
  return grid;
}
Grid with(double value) {
  Grid grid = ordinary();
  grid(absurd_cell.z, absurd_cell.y, absurd_cell.x) = value;
  return grid;
}

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::vector<Halo> halos_of(const comm::Communicator& world, const Grid& grid) {
  const mesh::Layout layout = test::random_layout(cells, periodic, world.size(), 7, 3);
  const mesh::Field<double> field = grid.on(layout, world.rank());
  HaloMeasures measures;
  measures.sphere_densities = {20.0};
  measures.moving_density = LeafField{field};
  const mesh::Field<double> speed =
      Grid::of(cells, [](int k, int j, int i) { return 3.0 * k - j + 0.3 * i; }).on(layout, world.rank());
  measures.velocity = {LeafField{speed}, LeafField{speed}, LeafField{speed}};
  return world.broadcast(
      find_halos(world, LeafField{field}, test::unit_cells(cells), HaloCriteria{80.0, 90.0}, measures));
}

TEST(AbsurdCell, LeavesTheOtherHalosAlone) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const std::vector<Halo> expected = halos_of(world, ordinary());
  ASSERT_EQ(expected.size(), 3U);
  for (const double value : absurd_values) {
    std::vector<Halo> halos = halos_of(world, with(value));
    ASSERT_EQ(halos.size(), 4U);
    EXPECT_EQ(halos.front().mass, value);
    halos.erase(halos.begin());
    EXPECT_TRUE(halos == expected) << value;
  }
}

// The masses of its own halo are those of all its cells.
TEST(AbsurdCell, AddsUpWithItsNeighbours) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const double value : absurd_values) {
    Grid grid = with(value);
    grid(absurd_cell.z, absurd_cell.y, absurd_cell.x + 1) = value;
    const std::vector<Halo> halos = halos_of(world, grid);
    EXPECT_EQ(halos.front().mass, 2.0 * value);
    EXPECT_EQ(halos.front().center[0], absurd_cell.x + 1.0);
  }
}

mesh::Snapshot snapshot_of(const comm::Communicator& world, const Grid& grid) {
  const mesh::Layout layout = test::random_layout(cells, periodic, world.size(), 7, 4);
  mesh::Snapshot snapshot = test::snapshot_on(layout, cells.x);
  snapshot.add({"gas_density", "Msun/Mpc^3"}, grid.on(layout, world.rank()));
  const Grid temperature = Grid::of(cells, [](int k, int, int) { return 10.0 * (1 + k); });
  snapshot.add({"temperature", "K"}, temperature.on(layout, world.rank()));
  return snapshot;
}

TEST(AbsurdCell, TouchesOnePixelOfAPicture) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto run = [&](const Grid& grid) {
    return test::analysis_of("analysis = 'projection'\nfields = ['gas_density']")->run(world, snapshot_of(world, grid));
  };
  const auto expected = run(ordinary());
  for (const double value : absurd_values) {
    const auto result = run(with(value));
    if (world.rank() != 0) continue;
    const auto picture = numbers(result, "gas_density"), before = numbers(expected, "gas_density");
    for (std::size_t p = 0; p < picture.size(); ++p) {
      const bool is_hit = p == static_cast<std::size_t>(absurd_cell.y * cells.x + absurd_cell.x);
      EXPECT_TRUE(is_hit ? picture[p] == value / cells.z : same(picture[p], before[p])) << p;
    }
  }
}

// One bin of densities that holds all halos, whatever the mean, and one bin of temperatures for each plane of cells.
TEST(AbsurdCell, TouchesOneBinOfAPhaseDiagram) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto run = [&](const Grid& grid) {
    return test::analysis_of(
               "analysis = 'phase'\ntemperature_low = 1.0\ntemperature_high = 1e4\ntemperature_bins = 4000\n"
               "density_low = 1e-307\ndensity_high = 1e300\ndensity_bins = 1")
        ->run(world, snapshot_of(world, grid));
  };
  const auto expected = run(ordinary());
  for (const double value : absurd_values) {
    const auto result = run(with(value));
    if (world.rank() != 0) continue;
    const auto mass = numbers(result, "mass"), before = numbers(expected, "mass");
    int with_halos = 0;
    for (std::size_t bin = 0; bin < mass.size(); ++bin) {
      const bool has_halo = before[bin] > 1.0;
      with_halos += has_halo;
      EXPECT_TRUE(!has_halo || same(mass[bin], before[bin])) << bin;
    }
    EXPECT_EQ(with_halos, 7);  // planes 1 to 3 and 9 to 12, less the one of the absurd cell
    EXPECT_EQ(*std::max_element(mass.begin(), mass.end()), value);
  }
}

TEST(AbsurdCell, HasAllTheMassOfAHistogram) {
  const comm::Communicator world(MPI_COMM_WORLD);
  Grid grid = with(1e300);
  const auto result = test::analysis_of("analysis = 'pdf'\nfields = ['gas_density']\nweight = 'mass'")
                          ->run(world, snapshot_of(world, grid));
  if (world.rank() != 0) return;
  double share = 0.0;
  for (const double of_bin : numbers(result, "gas_density_pdf")) share = std::max(share, of_bin);
  const auto low = numbers(result, "overdensity_low"), high = numbers(result, "overdensity_high");
  EXPECT_NEAR(share * std::log10(high[0] / low[0]), 1.0, 1e-9);
}

// The average of fine cells in a coarse one knows these alone.
TEST(AbsurdCell, TouchesOneCellOfACoveringGrid) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 2, periodic, world.size(), 8);
  const auto grid_of = [&](double value) {
    mesh::Snapshot snapshot;
    snapshot.geometry = mesh.geometry;
    snapshot.levels = mesh.levels;
    snapshot.add({"total_density", "1"}, test::leaves_of(mesh, world.rank(), [&](int level, Int3 cell) {
                   const double ordinary = std::exp(5 * test::noise(7, level, cell));
                   return level == 2 && cell == Int3{} ? value : ordinary;
                 }));
    return covering_field(world, snapshot, "total_density", 0);
  };
  const ScalarView expected = grid_of(1.0);
  for (const double value : absurd_values) {
    const ScalarView grid = grid_of(value);
    for (int b = 0; b < grid.blocks(); ++b)
      core::for_each_cell(grid.box(b), [&, before = expected.view(b), now = grid.view(b)](int k, int j, int i) {
        EXPECT_TRUE((Int3{i, j, k} == Int3{}) || same(now(k, j, i), before(k, j, i)));
      });
  }
}

}  // namespace
}  // namespace sidestream::analysis
