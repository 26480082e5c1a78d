// Increments of a velocity along the axes, against exact flows and a plain twin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/flow_fields.hpp"
#include "analysis/run.hpp"

namespace sidestream::analysis {
namespace {

using std::numbers::pi;
using test::FlowGrids;
using test::Grid;
using test::numbers;
using testing::HasSubstr;

constexpr mesh::Periodicity periodic{true, true, true};

mesh::Result measured(const comm::Communicator& world, const FlowGrids& flow, const std::array<double, 3>& length,
                      const std::string& options = "") {
  const auto layout = test::random_layout(flow[0].cells, periodic, world.size(), 9, 5);
  return test::analysis_of("analysis = 'structure_functions'\n" + options)
      ->run(world, test::flow_snapshot(flow, layout, length, world.rank()));
}

Grid increments(const Grid& grid, int axis, int separation) {
  return Grid::of(grid.cells, [&](int k, int j, int i) {
    mesh::Int3 ahead{i, j, k};
    ahead[axis] = mesh::wrapped(ahead[axis] + separation, grid.cells[axis]);
    return grid(ahead.z, ahead.y, ahead.x) - grid(k, j, i);
  });
}

// <(sin(x + r) - sin x)^2> = 1 - cos r; a wave across the separation has no increments.
TEST(StructureFunctions, OfAWaveAreThoseOfItsCorrelation) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const FlowGrids flow = test::flow_of({16, 16, 16}, [](double x, double y, double) {
    return std::array{std::sin(x), std::sin(2 * x), std::cos(3 * y)};
  });

  const auto result = measured(world, flow, {2 * pi, 2 * pi, 2 * pi}, "separations = [1, 3, 8]");

  if (world.rank() != 0) return;
  EXPECT_EQ(test::integers(result, "axis"), (std::vector<std::int64_t>{0, 1, 2}));
  for (std::size_t n = 0; n < 3; ++n) {
    const double r = 2 * pi / 16 * std::array{1, 3, 8}[n];
    EXPECT_NEAR(numbers(result, "separation")[n], r, 1e-14);
    EXPECT_NEAR(numbers(result, "longitudinal_2")[n], 1 - std::cos(r), 1e-14);
    EXPECT_NEAR(numbers(result, "transverse_2")[n], 0.5 * (1 - std::cos(2 * r)), 1e-14);
    EXPECT_NEAR(numbers(result, "longitudinal_2")[3 + n], 0.0, 1e-30);
    EXPECT_NEAR(numbers(result, "transverse_2")[3 + n], 0.5 * (1 - std::cos(3 * r)), 1e-14);
    EXPECT_NEAR(numbers(result, "mean_longitudinal_2")[n], (1 - std::cos(r)) / 3, 1e-14);
  }
}

TEST(StructureFunctions, AreThoseOfAllPairsOfCells) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const FlowGrids flow = test::random_flow({7, 8, 6}, 5);

  const auto result = measured(world, flow, {2.0, 3.0, 4.0}, "orders = [1, 2, 3, 4, 5]\nseparations = [1, 3]");

  if (world.rank() != 0) return;
  for (int axis = 0; axis < 3; ++axis)
    for (std::size_t n = 0; n < 2; ++n)
      for (int order = 1; order <= 5; ++order) {
        double along = 0.0, across = 0.0;
        for (int c = 0; c < 3; ++c) {
          const Grid all = increments(flow[static_cast<std::size_t>(c)], axis, n == 0 ? 1 : 3);
          (c == axis ? along : across) += test::mean_power(all, order) * (c == axis ? 1.0 : 0.5);
        }
        const std::size_t place = static_cast<std::size_t>(axis) * 2 + n;
        EXPECT_NEAR(numbers(result, "longitudinal_" + std::to_string(order))[place], along,
                    1e-12 * std::pow(3.0, order));
        EXPECT_NEAR(numbers(result, "transverse_" + std::to_string(order))[place], across,
                    1e-12 * std::pow(3.0, order));
      }
  EXPECT_THROW(result.column("mean_longitudinal_2"), core::Error);  // cells that are no cubes
}

TEST(StructureFunctions, CountIncrementsByTheirStandardDeviation) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const FlowGrids flow = test::random_flow({8, 6, 7}, 9);

  const auto result = measured(world, flow, {1.0, 1.0, 1.0}, "separations = [2]\npdf_bins = 5\npdf_width = 2.5");

  if (world.rank() != 0) return;
  std::vector<double> counts(5);
  for (int axis = 0; axis < 3; ++axis) {
    const Grid all = increments(flow[static_cast<std::size_t>(axis)], axis, 2);
    const double deviation = std::sqrt(test::mean_power(all, 2));
    for (const double value : all.values)
      if (std::fabs(value / deviation) < 2.5) counts.at(static_cast<std::size_t>(value / deviation + 2.5)) += 1.0;
  }
  for (std::size_t bin = 0; bin < 5; ++bin)
    EXPECT_NEAR(numbers(result, "longitudinal_pdf")[bin], counts[bin] / (3 * 8 * 6 * 7), 1e-12) << bin;
}

TEST(StructureFunctions, AreTakenAtPowersOfTwoAlongAxesThatHaveCells) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto result = measured(world, test::random_flow({20, 17, 1}, 9), {1.0, 1.0, 1.0}, "pdf_bins = 0");

  if (world.rank() != 0) return;
  EXPECT_EQ(test::integers(result, "axis"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(test::integers(result, "separation_cells"), (std::vector<std::int64_t>{1, 2, 4, 8}));
  EXPECT_THROW(result.column("longitudinal_pdf"), core::Error);
}

TEST(StructureFunctions, SayWhatIsWrongWithSeparationsAndOrders) {
  const auto complaint = [](const std::string& options) {
    return test::message_of([&] {
      test::analysis_of("analysis = 'structure_functions'\n" + options)->check(mesh::domain_of({16, 8, 16}));
    });
  };

  EXPECT_THAT(complaint("separations = [5]"), HasSubstr("more than half of the box of 8"));
  EXPECT_THAT(complaint("separations = [1.5]"), HasSubstr("1.5 is no whole number"));
  EXPECT_THAT(complaint("separations = [0]"), HasSubstr("separations"));
  EXPECT_THAT(complaint("orders = []"), HasSubstr("no order"));
  EXPECT_THAT(complaint("orders = [99]"), HasSubstr("orders"));
}

}  // namespace
}  // namespace sidestream::analysis
