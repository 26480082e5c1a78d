#include <gtest/gtest.h>

#include <numeric>

#include "analysis/run.hpp"
#include "analysis/statistics/log_bins.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using test::integers;
using test::numbers;

TEST(LogBins, PutEveryNumberBetweenItsEdges) {
  const LogBins bins(1e-3, 1e5, 200);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const double number = std::pow(10.0, -4 + 10 * core::uniform(1, 2, i));
    const std::int32_t bin = bins.find(number);
    if (bin >= 0) {
      EXPECT_GE(number, bins.edge(bin));
    }
    if (bin < bins.size()) {
      EXPECT_LT(number, bins.edge(bin + 1));
    }
  }
}

TEST(LogBins, TakeTheirLowEdgeAndLeaveTheirHighEdge) {
  const LogBins bins(0.5, 32.0, 37);
  for (std::int32_t i = 0; i < bins.size(); ++i) {
    EXPECT_EQ(bins.find(bins.edge(i)), i);
    EXPECT_EQ(bins.find(std::nextafter(bins.edge(i), 0.0)), i - 1);
  }
  EXPECT_EQ(bins.find(32.0), bins.size());
  EXPECT_EQ(bins.find(0.0), -1);
  EXPECT_EQ(bins.find(-5.0), -1);
  EXPECT_EQ(bins.find(std::numeric_limits<double>::infinity()), bins.size());
  EXPECT_EQ(bins.find(std::numeric_limits<double>::quiet_NaN()), -1);
}

// A gas of overdensity 1/2, 1 and 4 in 256, 128 and 64 cells and none in the other 64; the mean is 1.
mesh::Snapshot three_densities(const mesh::Layout& layout, int rank) {
  mesh::Snapshot snapshot = test::snapshot_on(layout, 8.0);
  test::Grid gas({8, 8, 8}), temperature({8, 8, 8}, 150.0);
  for (std::size_t i = 0; i < 512; ++i) {
    gas.values[i] = i < 256 ? 0.5 : i < 384 ? 1.0 : i < 448 ? 4.0 : 0.0;
    if (i < 128) temperature.values[i] = 15000.0;
  }
  snapshot.add({"gas_density", "Msun/Mpc^3"}, gas.on(layout, rank));
  snapshot.add({"temperature", "K"}, temperature.on(layout, rank));
  return snapshot;
}

TEST(Pdf, CountsCellsByOverdensity) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({8, 8, 8}, {true, true, true}, world.size(), 9, 4);

  const auto result = test::analysis_of("analysis = 'pdf'\nfields = ['gas_density']\nlow = 0.25\nhigh = 4.0\nbins = 4")
                          ->run(world, three_densities(layout, world.rank()));

  if (world.rank() != 0) return;
  EXPECT_EQ(integers(result, "gas_density_count"), (std::vector<std::int64_t>{0, 256, 128, 0}));
  EXPECT_EQ(std::get<std::int64_t>(result.attributes.at("gas_density_below")), 64);
  EXPECT_EQ(std::get<std::int64_t>(result.attributes.at("gas_density_above")), 64);
  EXPECT_NEAR(numbers(result, "gas_density_pdf")[1], 0.5 / std::log10(2.0), 1e-14);
  EXPECT_NEAR(numbers(result, "overdensity")[1], std::sqrt(0.5), 1e-14);
  EXPECT_EQ(numbers(result, "overdensity_low")[0], 0.25);
  EXPECT_EQ(numbers(result, "overdensity_high")[3], 4.0);
}

TEST(Pdf, OfTheStandardDensitiesCountsEveryCellOnce) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({12, 12, 12}, {true, true, true}, world.size(), 20, 4);

  const auto result = test::analysis_of("analysis = 'pdf'")->run(world, test::cosmology_snapshot(layout, world.rank()));

  if (world.rank() != 0) return;
  for (const std::string name : {"gas_density", "dark_matter_density", "total_density"}) {
    const auto& counts = integers(result, name + "_count");
    EXPECT_EQ(counts.size(), 200u);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) +
                  std::get<std::int64_t>(result.attributes.at(name + "_below")) +
                  std::get<std::int64_t>(result.attributes.at(name + "_above")),
              1728);
  }
}

TEST(Phase, CountsCellsAndMassByTemperatureAndDensity) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({8, 8, 8}, {true, true, true}, world.size(), 9, 4);

  const auto result = test::analysis_of(
                          "analysis = 'phase'\ndensity_low = 0.1\ndensity_high = 10.0\ndensity_bins = 2\n"
                          "temperature_low = 100.0\ntemperature_high = 1e6\ntemperature_bins = 2")
                          ->run(world, three_densities(layout, world.rank()));

  if (world.rank() != 0) return;
  EXPECT_EQ(integers(result, "count"), (std::vector<std::int64_t>{128, 192, 128, 0}));
  EXPECT_EQ(numbers(result, "mass"), (std::vector<double>{64, 128 + 256, 64, 0}));
  EXPECT_EQ(std::get<std::int64_t>(result.attributes.at("outside")), 64);
  EXPECT_EQ(result.dimensions.at("temperature_bin"), 2);
  EXPECT_EQ(result.dimensions.at("density_bin"), 2);
  EXPECT_EQ(numbers(result, "temperature_low")[0], 100.0);
  EXPECT_EQ(numbers(result, "density_high")[1], 10.0);
}

TEST(Pdf, RefusesAFieldWithoutAMean) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, world.size()});
  mesh::Snapshot snapshot = test::snapshot_on(layout, 8.0);
  snapshot.add({"gas_density", "Msun/Mpc^3"}, test::Grid({8, 8, 8}, 0.0).on(layout, world.rank()));

  EXPECT_THROW(test::analysis_of("analysis = 'pdf'")->run(world, snapshot), core::Error);
}

}  // namespace
}  // namespace sidestream::analysis
