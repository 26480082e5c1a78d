// Optical depths of a box and the statistics of its flux.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "analysis/absorbing_gas.hpp"
#include "analysis/lyman_alpha/absorbers.hpp"
#include "analysis/lyman_alpha/depth_histogram.hpp"
#include "analysis/lyman_alpha/flux_statistics.hpp"
#include "analysis/lyman_alpha/lines_of_sight.hpp"
#include "analysis/lyman_alpha/mean_flux.hpp"
#include "analysis/run.hpp"
#include "analysis/statistics/spectrum.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using std::numbers::pi;
using test::depths_line_by_line;
using test::Gas;
using test::Grid;
using test::integers;
using test::numbers;
using test::snapshot_of;
using test::snapshot_of_reference;
using test::some_layout;
using testing::HasSubstr;

TEST(LinesOfSight, AreThoseOfTheirCellsAlongEachAxisOnAnyLayout) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const Int3 cells : {Int3{16, 12, 20}, Int3{5, 3, 2}, Int3{40, 1, 7}}) {
    const Gas gas(cells);
    const auto snapshot = snapshot_of(gas, some_layout(cells, world.size()), world.rank());
    const Absorbers absorbers = absorbers_of(world, snapshot, {lyman_alpha("H I"), Broadening::full, {0, 1, 2}});
    for (int axis = 0; axis < 3; ++axis) {
      const mesh::Field<double> depth = optical_depth(world, absorbers, axis, Broadening::full);

      const Grid expected = depths_line_by_line(gas, absorbers.scales[static_cast<std::size_t>(axis)], axis);
      check(depth.layout());
      std::int64_t own = 0;
      for (int b = 0; b < depth.blocks(); ++b) {
        EXPECT_EQ(depth.box(b).extent()[axis], cells[axis]);
        core::for_each_cell(depth.box(b), [&](int k, int j, int i) {
          ++own;
          EXPECT_EQ(depth.view(b)(k, j, i), expected(k, j, i));
        });
      }
      EXPECT_EQ(world.sum(own), cells.product());
    }
  }
}

TEST(LinesOfSight, NameTheCellWhoseGasIsNotPhysical) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{8, 6, 4};
  const auto message = [&](const std::function<void(Gas&)>& spoil) {
    Gas gas(cells);
    spoil(gas);
    const auto snapshot = snapshot_of(gas, some_layout(cells, world.size()), world.rank());
    return test::message_of([&] { test::analysis_of("analysis = 'flux'")->run(world, snapshot); });
  };

  EXPECT_THAT(message([](Gas& gas) { gas.density(1, 2, 3) = -1e-12; }),
              HasSubstr("the field `neutral_hydrogen` holds -1e-12 at the cell (z, y, x) = (1, 2, 3)"));
  EXPECT_THAT(message([](Gas& gas) { gas.temperature(3, 0, 7) = -5; }), HasSubstr("`temperature` holds -5 at"));
  EXPECT_THAT(message([](Gas& gas) { gas.temperature(3, 0, 7) = 1e14; }),
              HasSubstr("`temperature` holds 100000000000000 at"));
  EXPECT_THAT(message([](Gas& gas) { gas.velocity[2](0, 0, 0) = 3e5; }), HasSubstr("`velocity_z` holds 300000 at"));
  EXPECT_THAT(message([](Gas& gas) {
                gas.density = Grid({8, 6, 4}, 1.0), gas.velocity.fill(Grid({8, 6, 4}));
              }),
              HasSubstr("no light comes through"));
}

TEST(LinesOfSight, NeedTheirIonAndACosmology) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = some_layout({8, 8, 8}, world.size());
  auto snapshot = snapshot_of(Gas({8, 8, 8}), layout, world.rank());

  EXPECT_THAT(test::message_of([&] { test::analysis_of("analysis = 'flux'\nion = 'He II'")->run(world, snapshot); }),
              HasSubstr("[quantity.singly_ionized_helium]"));
  EXPECT_THAT(test::analysis_of("analysis = 'flux'\nion = 'He II'\naxes = ['z', 'x']")->fields(),
              testing::ElementsAre("singly_ionized_helium", "temperature", "velocity_x", "velocity_z"));
  snapshot.moment.attributes.erase("omega_m");
  EXPECT_THAT(test::message_of([&] { test::analysis_of("analysis = 'flux'")->run(world, snapshot); }),
              HasSubstr("cosmology"));
}

double direct_mean_flux(const std::vector<double>& depths, double factor) {
  double sum = 0;
  for (const double depth : depths) sum += std::exp(-factor * depth);
  return sum / static_cast<double>(depths.size());
}

TEST(DepthHistogram, TellsTheMeanFluxAndItsFactorTo1e6OfADirectSum) {
  for (const double sigma : {0.0, 1e-4, 0.7, 2.5}) {
    std::vector<double> depths(5000);
    for (std::size_t i = 0; i < depths.size(); ++i) depths[i] = 0.8 * std::exp(sigma * core::normal(3, 1, i));
    DepthHistogram histogram;
    histogram.add(depths);

    for (const double factor : {1e-3, 0.3, 1.0, 2.7, 40.0})
      EXPECT_NEAR(histogram.mean_flux(factor), direct_mean_flux(depths, factor), 3e-7) << sigma << " " << factor;
    for (const double wanted : {0.05, 0.41, 0.669, 0.95})
      EXPECT_NEAR(direct_mean_flux(depths, histogram.factor_for(wanted)), wanted, 1e-6) << sigma;
  }
}

TEST(DepthHistogram, OfLightThatAllComesThroughStaysAsItIs) {
  DepthHistogram histogram;
  histogram.add(std::vector<double>(100, 0.0));

  EXPECT_NEAR(histogram.mean_flux(1.0), 1.0, 1e-10);
  EXPECT_EQ(histogram.factor_for(0.5), 1.0);
  histogram.add(std::vector<double>(10, 2.0));
  EXPECT_THROW(histogram.factor_for(0.5), core::Error);
}

TEST(LinesOfSight, OfGasThatAbsorbsNothingAreBright) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{8, 6, 4};
  Gas gas(cells);
  gas.density = Grid(cells);
  const auto snapshot = snapshot_of(gas, some_layout(cells, world.size()), world.rank());

  for (const std::string flux : {"simulated", "0.5"}) {
    const mesh::Result result =
        test::analysis_of("analysis = 'flux'\nmean_flux = '" + flux + "'")->run(world, snapshot);
    if (world.rank() > 0) continue;
    for (const double mean : test::numbers(result, "mean_flux")) EXPECT_EQ(mean, 1.0);
    for (const double factor : test::numbers(result, "depth_factor")) EXPECT_EQ(factor, 1.0);
    for (const char* const power : {"flux_power", "flux_monopole", "mu_power"})
      for (const double value : test::numbers(result, power)) EXPECT_EQ(value, 0.0) << power;
  }
}

TEST(MeanFlux, IsANumberOrThatOfAFit) {
  EXPECT_EQ(MeanFlux("simulated").at(3.0), std::nullopt);
  EXPECT_EQ(MeanFlux("0.669").at(3.0), 0.669);
  const struct {
    const char* fit;
    double redshift, flux;
  } known[] = {{"becker2013", 2.2, .863},
               {"becker2013", 3, .669},
               {"becker2013", 4, .412},
               {"kim2007", 2.2, .852},
               {"kim2007", 3, .696},
               {"kim2007", 4, .441},
               {"faucher-giguere2008", 2.2, .842},
               {"faucher-giguere2008", 3, .662},
               {"faucher-giguere2008", 4, .372}};
  for (const auto& [fit, redshift, flux] : known) EXPECT_NEAR(MeanFlux(fit).at(redshift).value(), flux, 6e-4) << fit;
  for (const char* bad : {"", "0", "1", "1.2", "-0.3", "nan", "0.5 or so", "becker"})
    EXPECT_THROW(MeanFlux{bad}, core::Error) << bad;
  EXPECT_THROW(MeanFlux("becker2013").at(0.5), core::Error);  // the fit says that more light arrives than was sent
}

// The depths whose flux this is.
mesh::Field<double> depths_of(const comm::Communicator& world, const Grid& flux, int axis) {
  Grid depth = flux;
  for (double& value : depth.values) value = -std::log(value);
  return depth.on(joined(line_batches(test::one_box(flux.cells), world.size(), axis)), world.rank());
}

TEST(FluxStatistics, OfAWaveAreItsAmplitudeSquaredOverFour) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const double amplitude = 0.3;
  for (int axis = 0; axis < 3; ++axis) {
    const Int3 cells{24, 30, 18};
    const Grid flux = Grid::of(cells, [&](int k, int j, int i) {
      const Int3 cell{i, j, k};
      return 0.5 * (1 + amplitude * std::cos(2 * pi * 5 * cell[axis] / cells[axis] + 0.1 * (i + j + k - cell[axis])));
    });
    auto depth = depths_of(world, flux, axis);

    const FluxStatistics found = flux_statistics(world, depth, axis, 1.0, 10);

    EXPECT_NEAR(found.mean, 0.5, 1e-14);
    if (world.rank() != 0) continue;
    ASSERT_EQ(found.power.size(), static_cast<std::size_t>(cells[axis] / 2));
    for (std::size_t m = 0; m < found.power.size(); ++m)
      EXPECT_NEAR(found.power[m], m == 4 ? amplitude * amplitude / 4 : 0.0, 1e-15);
  }
}

TEST(FluxStatistics, OfNoiseAreFlatAndHoldItsVariance) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{32, 32, 32};
  Grid flux(cells);
  for (std::size_t i = 0; i < flux.values.size(); ++i) flux.values[i] = 0.5 + 0.05 * core::normal(8, 1, i);
  auto depth = depths_of(world, flux, 1);

  const FluxStatistics found = flux_statistics(world, depth, 1, 1.0, 10);

  if (world.rank() != 0) return;
  double mean = 0, square = 0, of_lines = 0;
  for (const double one : flux.values) mean += one / 32768;
  for (const double one : flux.values) square += (one / mean - 1) * (one / mean - 1) / 32768;
  for (int k = 0; k < 32; ++k)
    for (int i = 0; i < 32; ++i) {
      double line = 0;
      for (int j = 0; j < 32; ++j) line += (flux(k, j, i) / mean - 1) / 32;
      of_lines += line * line / 1024;
    }
  double sum = of_lines;  // Parseval: that of the means of lines, of the modes and of their conjugates
  for (std::size_t m = 1; m <= 16; ++m) {
    sum += (m == 16 ? 1 : 2) * found.power[m - 1];
    const double lines = m == 16 ? 512 : 1024;  // a real mode has half the freedom
    EXPECT_NEAR(found.power[m - 1], 0.01 / 32, 5 * 0.01 / 32 / std::sqrt(lines)) << m;
  }
  EXPECT_NEAR(sum, square, 1e-13);
  std::int64_t all = 0;
  for (const std::int64_t count : found.pixels) all += count;
  EXPECT_EQ(all, 32768);
}

TEST(FluxTask, GivesTheMeanFluxAndTheFactorOfTheReference) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto snapshot = snapshot_of_reference(world);
  const std::string toml = "analysis = 'flux'\naxes = ['x']\n";

  const auto full = test::analysis_of(toml)->run(world, snapshot),
             local = test::analysis_of(toml + "optical_depth = 'local'")->run(world, snapshot),
             damped = test::analysis_of(toml + "optical_depth = 'voigt'")->run(world, snapshot),
             scaled = test::analysis_of(toml + "mean_flux = '0.669'")->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_NEAR(numbers(full, "mean_flux")[0], .559768450, 1e-8);
  EXPECT_NEAR(numbers(local, "mean_flux")[0], .426214300, 1e-8);
  EXPECT_NEAR(numbers(damped, "mean_flux")[0], .559694309, 1e-5);
  EXPECT_EQ(numbers(full, "depth_factor")[0], 1.0);
  EXPECT_NEAR(numbers(scaled, "mean_flux")[0], 0.669, 1e-6);
  EXPECT_NEAR(numbers(scaled, "depth_factor")[0], .392861493, 1e-6);
}

TEST(FluxTask, GivesThePowerAndThePdfOfTheReference) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto result = test::analysis_of("analysis = 'flux'\naxes = ['x']\nbins = 10\nmean_flux = '0.669'")
                          ->run(world, snapshot_of_reference(world));

  if (world.rank() != 0) return;
  const std::array k{.008363359, .01672672, .02509008, .03345344, .0418168};
  const std::array power{84.0742, 29.49283, .1643765, .4860984, 1.168173};
  for (std::size_t m = 0; m < 5; ++m) {
    EXPECT_NEAR(numbers(result, "k_velocity")[m], k[m], 1e-6 * k[m]);
    EXPECT_NEAR(numbers(result, "flux_power_velocity")[m], power[m], 1e-5 * power[m]);
    EXPECT_NEAR(numbers(result, "dimensionless_power")[m], k[m] * power[m] / pi, 2e-5 * k[m] * power[m] / pi);
    const double per_mpc = 107.0193;  // km/s in 1 Mpc/h
    EXPECT_NEAR(numbers(result, "k")[m], k[m] * per_mpc, 1e-5 * k[m] * per_mpc);
    EXPECT_NEAR(numbers(result, "flux_power")[m], power[m] / per_mpc, 2e-5 * power[m] / per_mpc);
  }
  const double length = 64 * 11.7386766130;
  double variance = 0;
  for (std::size_t m = 0; m < 32; ++m)
    variance += (m == 31 ? 1 : 2) * numbers(result, "flux_power_velocity")[m] / length;
  EXPECT_NEAR(variance, .313446041, 1e-5 * .313446041);
  std::vector<std::int64_t> pixels{11, 2, 3, 2, 2, 2, 2, 3, 5, 32};
  for (std::size_t bin = 0; bin < 10; ++bin)
    EXPECT_NEAR(numbers(result, "flux_pdf")[bin], static_cast<double>(pixels[bin]) / 64 * 10, 1e-12);
  for (std::int64_t& count : pixels) count *= 6;
  EXPECT_EQ(integers(result, "flux_count"), pixels);
}

TEST(FluxTask, ScalesAllAxesTogetherOrEachForItself) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{12, 12, 12};
  const auto snapshot = snapshot_of(Gas(cells), some_layout(cells, world.size()), world.rank());
  const std::string toml = "analysis = 'flux'\nmean_flux = '0.75'\n";

  const auto together = test::analysis_of(toml)->run(world, snapshot),
             each = test::analysis_of(toml + "rescale = 'each'")->run(world, snapshot);

  if (world.rank() != 0) return;
  const auto& factors = numbers(together, "depth_factor");
  EXPECT_EQ(factors, std::vector(3, factors[0]));
  double mean = 0;
  for (const double one : numbers(together, "mean_flux")) mean += one / 3;
  EXPECT_NEAR(mean, 0.75, 1e-6);
  for (const double one : numbers(each, "mean_flux")) EXPECT_NEAR(one, 0.75, 1e-6);
  EXPECT_NE(numbers(each, "depth_factor")[0], numbers(each, "depth_factor")[1]);
  EXPECT_EQ(integers(together, "axis"), (std::vector<std::int64_t>{0, 1, 2}));
}

// A float is right to 2^-24 of it, and x exp(-x) is below 1/e.
TEST(FluxTask, ThatIsScaledTogetherIsRightToTheFloatsItKeeps) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{24, 16, 12};
  const auto snapshot = snapshot_of(Gas(cells), some_layout(cells, world.size()), world.rank());
  const std::string toml = "analysis = 'flux'\naxes = ['x']\nslice = true\nmean_flux = '0.6'\n";

  const auto together = test::analysis_of(toml)->run(world, snapshot),
             each = test::analysis_of(toml + "rescale = 'each'")->run(world, snapshot);

  if (world.rank() != 0) return;
  const double factor = numbers(together, "depth_factor")[0] / numbers(each, "depth_factor")[0];
  EXPECT_NEAR(factor, 1.0, 1e-6);
  const auto &slice = numbers(together, "flux_slice"), &expected = numbers(each, "flux_slice");
  for (std::size_t i = 0; i < slice.size(); ++i)
    EXPECT_NEAR(slice[i], std::pow(expected[i], factor), std::ldexp(1.0, -24) / std::numbers::e + 1e-15);
}

TEST(FluxTask, SeesTheSameAlongAxesThatAreExchanged) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{16, 16, 16};
  const Gas gas(cells);
  Gas turned = gas;  // what was along x is along z
  const auto turn = [&](const Grid& grid) {
    return Grid::of(cells, [&](int k, int j, int i) { return grid(i, j, k); });
  };
  turned.density = turn(gas.density);
  turned.temperature = turn(gas.temperature);
  turned.velocity = {turn(gas.velocity[2]), turn(gas.velocity[1]), turn(gas.velocity[0])};
  const auto layout = some_layout(cells, world.size());

  const auto
      along_x =
          test::analysis_of("analysis = 'flux'\naxes = ['x']")->run(world, snapshot_of(gas, layout, world.rank())),
      along_z =
          test::analysis_of("analysis = 'flux'\naxes = ['z']")->run(world, snapshot_of(turned, layout, world.rank()));

  if (world.rank() != 0) return;
  for (const char* name : {"mean_flux", "flux_pdf", "flux_power", "mean_dimensionless_power"})
    EXPECT_EQ(numbers(along_x, name), numbers(along_z, name)) << name;
}

TEST(FluxTask, OfABoxWithUnequalSidesHasModesOfEachAxis) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{16, 8, 12};
  auto snapshot = snapshot_of(Gas(cells), some_layout(cells, world.size()), world.rank());
  snapshot.geometry.length = {20.0, 10.0, 15.0};

  const auto result = test::analysis_of("analysis = 'flux'")->run(world, snapshot);

  if (world.rank() != 0) return;
  const auto& k = numbers(result, "k");
  ASSERT_EQ(k.size(), 24u);
  EXPECT_NEAR(k[0], 2 * pi / 20 / 0.702, 1e-12);
  EXPECT_NEAR(k[8], 2 * pi / 10 / 0.702, 1e-12);
  EXPECT_NEAR(k[16 + 5], 6 * 2 * pi / 15 / 0.702, 1e-12);
  EXPECT_EQ(k[8 + 4], 0.0);
  EXPECT_THROW(result.column("mean_flux_power"), core::Error);
}

TEST(FluxTask, KeepsThePlaneOfTheFluxInTheMiddleOfTheBox) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{8, 12, 10};
  const Gas gas(cells);
  const auto snapshot = snapshot_of(gas, some_layout(cells, world.size()), world.rank());
  const Absorbers absorbers = absorbers_of(world, snapshot, {lyman_alpha("H I"), Broadening::full, {0, 1, 2}});
  for (int axis = 0; axis < 3; ++axis) {
    const auto result =
        test::analysis_of("analysis = 'flux'\nslice = true\naxes = ['" + std::string(1, "xyz"[axis]) + "']")
            ->run(world, snapshot);

    if (world.rank() != 0) continue;
    const Grid depths = depths_line_by_line(gas, absorbers.scales[static_cast<std::size_t>(axis)], axis);
    const int other = (axis + 1) % 3, across = (axis + 2) % 3;
    Int3 cell;
    cell[across] = cells[across] / 2;
    std::size_t place = 0;
    for (cell[other] = 0; cell[other] < cells[other]; ++cell[other])
      for (cell[axis] = 0; cell[axis] < cells[axis]; ++cell[axis])
        EXPECT_NEAR(numbers(result, "flux_slice")[place++], std::exp(-depths(cell.z, cell.y, cell.x)), 1e-15);
    EXPECT_EQ(numbers(result, "flux_slice").size(), place);
    EXPECT_NEAR(numbers(result, "slice_line").back(), 10 - 5.0 / cells[other], 1e-12);
    EXPECT_NEAR(numbers(result, "slice_pixel")[0], 5.0 / cells[axis], 1e-12);
  }
}

TEST(FluxTask, RefusesStatesInOtherUnits) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{8, 8, 8};
  const Gas gas(cells);
  auto snapshot = snapshot_of(gas, some_layout(cells, world.size()), world.rank());
  snapshot.length_unit = "kpc";

  EXPECT_THAT([&] { test::analysis_of("analysis = 'flux'")->run(world, snapshot); },
              testing::ThrowsMessage<core::Error>(
                  testing::HasSubstr("optical depths take lengths in Mpc, and these are in kpc")));
}

TEST(FluxTask, SaysWhatIsWrongWithItsConfiguration) {
  const auto complaint = [](const std::string& toml) {
    return test::message_of([&] { test::analysis_of("analysis = 'flux'\n" + toml); });
  };

  EXPECT_THAT(complaint("axes = ['w']"), HasSubstr("no axis `w`"));
  EXPECT_THAT(complaint("axes = []"), HasSubstr("no axis to look along"));
  EXPECT_THAT(complaint("mean_flux = 'becker'"), HasSubstr("becker2013"));
  EXPECT_THAT(complaint("cross = ['gas_density']\nmu_bins = 0"), HasSubstr("three dimensions"));
  EXPECT_THAT(complaint("rescale = 'each'"), HasSubstr("no mean flux to rescale to"));
  EXPECT_THAT(complaint("mean_flux = '1e-300'"), HasSubstr("too dark"));
  EXPECT_THAT(complaint("ion = 'C IV'"), HasSubstr("ion"));
  EXPECT_THAT(complaint("optical_depth = 'exact'"), HasSubstr("optical_depth"));
}

// What is left of velocities is no mean to be relative to; fields of one sign may be as clumpy as they like.
TEST(PositiveMean, IsNotWhatIsLeftOfBothSigns) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{8, 8, 8};
  const auto layout = some_layout(cells, world.size());
  Grid velocity(cells), clump(cells);
  for (std::size_t i = 0; i < velocity.values.size(); ++i) velocity.values[i] = 1e-4 + (i % 2 == 0 ? 1.0 : -1.0);
  clump.values[77] = 1.0;
  const auto mean_of = [&](const Grid& grid) {
    return positive_mean(world, LeafField{grid.on(layout, world.rank())}, "it");
  };

  EXPECT_THAT(test::message_of([&] { mean_of(velocity); }), HasSubstr("both signs"));
  EXPECT_EQ(mean_of(clump), 1.0 / 512);
}

// A small wave of density whose gas flows as linear theory has it (Kaiser 1987, MNRAS 227, 1): the thin gas is absorbed
// at its places in redshift, where the wave is 1 + beta mu^2 times as high, and is smoothed by the width of the line
// (b, in pixels, wide enough for the pixels to resolve it) and of a cell. What is left are terms as small as the wave
// and the depth.
TEST(Flux, OfALinearFieldInRedshiftSpaceHasKaisersLimit) {
  const comm::Communicator world(MPI_COMM_WORLD);
  constexpr int n = 32;
  constexpr double side = 30.0, beta = 0.6, b = 1.5, amplitude = 1e-4, thin = 1e-4;
  for (const Int3 wave : {Int3{0, 0, 2}, Int3{2, 0, 0}, Int3{1, 0, 2}, Int3{2, 1, 2}, Int3{3, 0, 1}}) {
    Gas gas(Int3{n, n, n});
    const auto layout = some_layout(gas.density.cells, world.size());
    const HubbleFlow flow(snapshot_of(gas, layout, world.rank(), side).moment);
    const LineScales scales = scales_of(lyman_alpha("H I"), flow, side / n);
    gas.temperature = Grid(gas.density.cells, std::pow(b / scales.width_per_root_kelvin, 2));
    const double squares = wave.x * wave.x + wave.y * wave.y + wave.z * wave.z, unit = 2 * pi / side,
                 mu = wave.z / std::sqrt(squares);
    const auto phase = [&](int k, int j, int i) { return 2 * pi * (wave.x * i + wave.y * j + wave.z * k) / n; };
    gas.density = Grid::of(gas.density.cells, [&](int k, int j, int i) {
      return thin / scales.depth_per_density * (1 + amplitude * std::cos(phase(k, j, i)));
    });
    gas.velocity[2] = Grid::of(gas.density.cells, [&](int k, int j, int i) {
      return -flow.velocity_of(beta * amplitude * wave.z / (unit * squares)) * std::sin(phase(k, j, i));
    });

    mesh::Snapshot snapshot = snapshot_of(gas, layout, world.rank(), side);
    snapshot.add({"gas_density", "Msun/Mpc^3"}, gas.density.on(layout, world.rank()));
    const auto result =
        test::analysis_of("analysis = 'flux'\naxes = ['z']\ncross = ['gas_density']")->run(world, snapshot);

    if (world.rank() != 0) continue;
    const auto shell = static_cast<std::size_t>(std::sqrt(squares) + 0.5) - 1;
    double modes = 0;
    for (std::size_t bin = 0; bin < 4; ++bin)
      modes += static_cast<double>(integers(result, "mu_modes")[4 * shell + bin]);
    const double volume = std::pow(side * 0.702, 3), of_wave = volume / 2 * std::pow(thin * amplitude, 2),
                 q = 2 * pi * wave.z / n, kaiser = std::pow(1 + beta * mu * mu, 2),
                 window = std::exp(-q * q * b * b / 4) * (wave.z == 0 ? 1 : std::sin(q / 2) / (q / 2));
    EXPECT_NEAR(numbers(result, "flux_monopole")[shell] * modes / of_wave, kaiser * window * window, 1e-3)
        << wave.x << wave.y << wave.z;
    const auto cross = [&](const std::string& pole) {
      return numbers(result, "flux_gas_density_cross_" + pole)[shell];
    };
    EXPECT_NEAR(cross("monopole") * modes / (-of_wave / thin), std::sqrt(kaiser) * window, 1e-3);
    EXPECT_NEAR(cross("quadrupole"), cross("monopole") * 5 * (1.5 * mu * mu - 0.5), 1e-3 * std::abs(cross("monopole")));
  }
}

}  // namespace
}  // namespace sidestream::analysis
