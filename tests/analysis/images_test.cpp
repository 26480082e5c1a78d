#include <gtest/gtest.h>

#include "analysis/run.hpp"

namespace sidestream::analysis {
namespace {

using test::numbers;

// Values a + 10 b + 100 c at the cell (c, b, a) = (z, y, x) of a box of 4 x 3 x 2 cells of one Mpc.
mesh::Snapshot digits(const comm::Communicator& world) {
  const test::Grid grid = test::Grid::of({4, 3, 2}, [](int k, int j, int i) { return i + 10.0 * j + 100.0 * k; });
  const auto layout = test::random_layout(grid.cells, {true, true, true}, world.size(), 5, 8);
  mesh::Snapshot snapshot;
  snapshot.geometry = test::unit_cells(grid.cells);
  snapshot.length_unit = "Mpc";
  snapshot.levels = {layout};
  snapshot.add({"digits", "K"}, grid.on(layout, world.rank()));
  const test::Grid weight = test::Grid::of({4, 3, 2}, [](int k, int, int) { return k == 0 ? 1.0 : 3.0; });
  snapshot.add({"weight", "1"}, weight.on(layout, world.rank()));
  return snapshot;
}

mesh::Result picture(const comm::Communicator& world, const std::string& toml) {
  return test::analysis_of("fields = ['digits']\n" + toml)->run(world, digits(world));
}

TEST(Projection, AveragesAlongTheLineOfSight) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto along_z = picture(world, "analysis = 'projection'");
  const auto along_x = picture(world, "analysis = 'projection'\naxis = 'x'");
  const auto along_y = picture(world, "analysis = 'projection'\naxis = 'y'");

  if (world.rank() != 0) return;
  EXPECT_EQ(numbers(along_z, "digits"), (std::vector<double>{50, 51, 52, 53, 60, 61, 62, 63, 70, 71, 72, 73}));
  EXPECT_EQ(numbers(along_x, "digits"), (std::vector<double>{1.5, 11.5, 21.5, 101.5, 111.5, 121.5}));
  EXPECT_EQ(numbers(along_y, "digits"), (std::vector<double>{10, 11, 12, 13, 110, 111, 112, 113}));
  EXPECT_EQ(numbers(along_x, "x"), (std::vector<double>{0.5, 1.5, 2.5}));
  EXPECT_EQ(numbers(along_x, "y"), (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(std::get<std::string>(along_x.attributes.at("axis")), "x");
  EXPECT_EQ(std::get<std::string>(along_x.attributes.at("vertical")), "z");
  EXPECT_EQ(along_z.column("digits").dimensions, (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(along_z.summary, "4 x 3 pixels");
}

TEST(Projection, WeighsIntegratesAndTakesTheLargest) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto weighted = picture(world, "analysis = 'projection'\nweight = 'weight'");
  const auto integral = picture(world, "analysis = 'projection'\ncombine = 'integral'");
  const auto largest = picture(world, "analysis = 'projection'\ncombine = 'max'");

  if (world.rank() != 0) return;
  EXPECT_EQ(numbers(weighted, "digits")[0], 75.0);
  EXPECT_EQ(numbers(integral, "digits")[0], 100.0);
  EXPECT_EQ(integral.column("digits").unit, "K Mpc");
  EXPECT_EQ(numbers(largest, "digits"),
            (std::vector<double>{100, 101, 102, 103, 110, 111, 112, 113, 120, 121, 122, 123}));
}

TEST(Slice, ShowsThePlaneAtItsPosition) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto middle = picture(world, "analysis = 'slice'"),
             low = picture(world, "analysis = 'slice'\naxis = 'x'\nposition = 0.0"),
             high = picture(world, "analysis = 'slice'\naxis = 'y'\nposition = 1.0");

  if (world.rank() != 0) return;
  EXPECT_EQ(numbers(middle, "digits"),
            (std::vector<double>{100, 101, 102, 103, 110, 111, 112, 113, 120, 121, 122, 123}));
  EXPECT_EQ(numbers(low, "digits"), (std::vector<double>{0, 10, 20, 100, 110, 120}));
  EXPECT_EQ(numbers(high, "digits"), (std::vector<double>{20, 21, 22, 23, 120, 121, 122, 123}));
  EXPECT_EQ(std::get<double>(middle.attributes.at("position")), 1.5);
}

}  // namespace
}  // namespace sidestream::analysis
