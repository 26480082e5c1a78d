#include <gtest/gtest.h>

#include <functional>
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

// Gas of T = T0 Delta^(gamma - 1) and a temperature that `change` makes of that and of a number of the cell.
mesh::Result phase_of(const comm::Communicator& world, double slope,
                      const std::function<double(double temperature, std::uint64_t cell)>& change) {
  constexpr mesh::Int3 cells{32, 32, 32};
  constexpr double mean_density_temperature = 12000.0;
  const auto layout = test::random_layout(cells, {true, true, true}, world.size(), 9, 4);
  test::Grid gas(cells), temperature(cells);
  double mean = 0.0;
  for (std::size_t i = 0; i < gas.values.size(); ++i) {
    gas.values[i] = 6e9 * std::exp(core::normal(3, 1, i));
    mean += gas.values[i] / static_cast<double>(gas.values.size());
  }
  for (std::size_t i = 0; i < gas.values.size(); ++i)
    temperature.values[i] = change(mean_density_temperature * std::pow(gas.values[i] / mean, slope - 1), i);
  mesh::Snapshot snapshot = test::snapshot_on(layout, 8.0);
  snapshot.add({"gas_density", "Msun/Mpc^3"}, gas.on(layout, world.rank()));
  snapshot.add({"temperature", "K"}, temperature.on(layout, world.rank()));
  return test::analysis_of("analysis = 'phase'")->run(world, snapshot);
}

// Some 2000 cells in each bin of density and 0.1 dex of scatter leave 0.003 dex to a median and 0.003 to the slope; one
// cell in 33 that is hotter moves medians by 0.004 dex, a bin of 0.1 dex is centred to 0.001 dex.
TEST(Phase, FitsAPowerLawUnderScatterAndOutliers) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const double slope : {1.0, 1.55, 1.8}) {
    const auto result = phase_of(world, slope, [](double temperature, std::uint64_t cell) {
      if (cell % 33 == 0) return cell % 2 == 0 ? 5e4 : 1e6;
      return temperature * std::pow(10.0, 0.1 * core::normal(3, 2, cell));
    });

    if (world.rank() != 0) continue;
    EXPECT_NEAR(std::log10(std::get<double>(result.attributes.at("mean_density_temperature")) / 12000.0), 0.0, 0.01);
    EXPECT_NEAR(std::get<double>(result.attributes.at("temperature_slope")), slope, 0.015);
  }
}

TEST(Phase, HasMediansToTheWidthOfABinOfTemperature) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const double exact : {1.0, 3.217, 12345.6, 99999.0}) {
    const auto result = phase_of(world, 1.0, [=](double, std::uint64_t) { return exact; });

    if (world.rank() != 0) continue;
    ASSERT_EQ(numbers(result, "median_temperature").size(), 10u);
    for (const double median : numbers(result, "median_temperature"))
      EXPECT_NEAR(std::log10(median / exact), 0.0, 0.0017) << exact;
    EXPECT_NEAR(std::get<double>(result.attributes.at("temperature_slope")), 1.0, 1e-12);
  }
}

TEST(Phase, FitsNothingWhereABinHasNoGas) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const double none : {0.5, 1e5, 2e7}) {
    const auto result = phase_of(world, 1.0, [=](double, std::uint64_t) { return none; });

    if (world.rank() != 0) continue;
    EXPECT_EQ(numbers(result, "median_temperature"), std::vector<double>(10, 0.0));
    EXPECT_FALSE(result.attributes.contains("mean_density_temperature"));
  }
}

TEST(Pdf, CountsValuesAsTheyAreInTheUnitOfTheirFields) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({8, 8, 8}, {true, true, true}, world.size(), 9, 4);
  const auto pdf_of = [&](const std::string& fields) {
    return test::analysis_of("analysis = 'pdf'\nin_means = false\nlow = 100.0\nhigh = 1e5\nbins = 3\nfields = " +
                             fields)
        ->run(world, three_densities(layout, world.rank()));
  };

  const auto result = pdf_of("['temperature']");

  EXPECT_THROW(pdf_of("['temperature', 'gas_density']"), core::Error);
  if (world.rank() != 0) return;
  EXPECT_EQ(integers(result, "temperature_count"), (std::vector<std::int64_t>{384, 0, 128}));
  EXPECT_NEAR(numbers(result, "temperature_pdf")[2], 0.25, 1e-14);
  EXPECT_EQ(result.column("value").unit, "K");
}

TEST(Pdf, RefusesAFieldWithoutAMean) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, world.size()});
  mesh::Snapshot snapshot = test::snapshot_on(layout, 8.0);
  snapshot.add({"gas_density", "Msun/Mpc^3"}, test::Grid({8, 8, 8}, 0.0).on(layout, world.rank()));

  EXPECT_THROW(test::analysis_of("analysis = 'pdf'")->run(world, snapshot), core::Error);
}

TEST(Phase, NamesACellWithoutAFiniteTemperature) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({8, 8, 8}, {true, true, true}, world.size(), 9, 4);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    mesh::Snapshot snapshot = test::snapshot_on(layout, 8.0);
    test::Grid temperature({8, 8, 8}, 150.0);
    temperature.values[(3 * 8 + 5) * 8 + 6] = bad;
    snapshot.add({"gas_density", "Msun/Mpc^3"}, test::Grid({8, 8, 8}, 1.0).on(layout, world.rank()));
    snapshot.add({"temperature", "K"}, temperature.on(layout, world.rank()));

    try {
      test::analysis_of("analysis = 'phase'")->run(world, snapshot);
      FAIL() << "a temperature of " << bad << " was taken";
    } catch (const core::Error& error) {
      EXPECT_NE(error.message().find("`temperature`"), std::string::npos) << error.message();
      EXPECT_NE(error.message().find("(3, 5, 6)"), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace sidestream::analysis
