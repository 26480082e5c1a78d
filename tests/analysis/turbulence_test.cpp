// Spectra, scales and gradients of a flow, against exact flows and plain twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "analysis/flow_fields.hpp"
#include "analysis/run.hpp"
#include "analysis/turbulence/scales.hpp"

namespace sidestream::analysis {
namespace {

using std::numbers::pi;
using test::FlowGrids;
using test::Grid;
using test::numbers;
using testing::HasSubstr;

constexpr mesh::Periodicity periodic{true, true, true};
constexpr std::array<double, 3> two_pi{2 * pi, 2 * pi, 2 * pi};

mesh::Result measured(const comm::Communicator& world, const FlowGrids& flow, const std::array<double, 3>& length,
                      const std::string& options = "") {
  const auto layout = test::random_layout(flow[0].cells, periodic, world.size(), 9, 5);
  return test::analysis_of("analysis = 'turbulence'\n" + options)
      ->run(world, test::flow_snapshot(flow, layout, length, world.rank()));
}

double attribute(const mesh::Result& result, const std::string& name) {
  return std::get<double>(result.attributes.at(name));
}

double integral(const mesh::Result& result, const std::string& column) {
  double sum = 0.0;
  for (const double value : numbers(result, column)) sum += value;
  return sum * numbers(result, "k")[1];
}

TEST(Turbulence, OfTaylorAndGreenIsTheirs) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const double viscosity = 1.0 / 1600;

  const auto result = measured(world, test::taylor_green({16, 16, 16}), two_pi, "viscosity = 0.000625");

  if (world.rank() != 0) return;
  EXPECT_NEAR(attribute(result, "kinetic_energy"), 0.125, 1e-15);
  EXPECT_NEAR(attribute(result, "enstrophy"), 0.375, 1e-14);
  EXPECT_NEAR(attribute(result, "dissipation"), 2 * viscosity * 0.375, 1e-17);
  EXPECT_NEAR(attribute(result, "enstrophy_dissipation"), attribute(result, "dissipation"), 1e-17);
  EXPECT_NEAR(attribute(result, "helicity"), 0.0, 1e-15);
  EXPECT_NEAR(attribute(result, "rms_divergence"), 0.0, 1e-14);
  // All waves have |k| = sqrt(3), in the shell of 2.
  EXPECT_NEAR(numbers(result, "energy_spectrum")[2], 0.125, 1e-15);
  EXPECT_NEAR(numbers(result, "dissipation_spectrum")[2], 2 * viscosity * 3 * 0.125, 1e-17);
  const double u = std::sqrt(2 * 0.125 / 3), integral_scale = pi / (2 * u * u) * 0.125 / std::sqrt(3.0);
  EXPECT_NEAR(attribute(result, "rms_velocity"), u, 1e-15);
  EXPECT_NEAR(attribute(result, "integral_scale"), integral_scale, 1e-14);
  EXPECT_NEAR(attribute(result, "taylor_scale"), std::sqrt(15 * u * u / 0.75), 1e-14);
  EXPECT_NEAR(attribute(result, "turnover_time"), integral_scale / u, 1e-13);
  EXPECT_NEAR(attribute(result, "kolmogorov_scale"), std::pow(std::pow(viscosity, 3) / (0.75 * viscosity), 0.25),
              1e-14);
  EXPECT_NEAR(attribute(result, "k_max_eta"), 8 * attribute(result, "kolmogorov_scale"), 1e-14);
  EXPECT_NEAR(attribute(result, "taylor_reynolds_number"), u * std::sqrt(15 * u * u / 0.75) / viscosity, 1e-10);
}

TEST(Turbulence, OddAxesEndAtTheirShortestWave) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto result = measured(world, test::taylor_green({11, 15, 13}), two_pi, "viscosity = 0.01");

  if (world.rank() == 0) {
    EXPECT_NEAR(attribute(result, "k_max"), 5.0, 1e-14);
  }
}

TEST(Turbulence, OfABeltramiFlowHasItsHelicity) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto result = measured(world, test::abc_flow({12, 8, 10}, 1.0, 0.7, 0.4), two_pi);

  if (world.rank() != 0) return;
  const double energy = 0.5 * (1.0 + 0.49 + 0.16);
  EXPECT_NEAR(attribute(result, "kinetic_energy"), energy, 1e-14);
  EXPECT_NEAR(attribute(result, "helicity"), 2 * energy, 1e-14);
  EXPECT_NEAR(numbers(result, "helicity_spectrum")[1], 2 * energy, 1e-14);
  EXPECT_NEAR(attribute(result, "enstrophy"), energy, 1e-14);
  EXPECT_THROW(attribute(result, "dissipation"), std::out_of_range);
  EXPECT_THAT(result.summary, HasSubstr("no viscosity"));
}

// Parseval, at every size of box and with all waves of the grid.
TEST(Turbulence, HasSpectraThatAddUpToTheEnergyInCells) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const mesh::Int3 cells : {mesh::Int3{16, 16, 16}, {12, 9, 7}, {13, 8, 1}}) {
    const auto result = measured(world, test::random_flow(cells, 3), {3.0, 5.0, 2.0}, "viscosity = 0.5");

    if (world.rank() != 0) continue;
    const double energy = attribute(result, "kinetic_energy");
    EXPECT_NEAR(integral(result, "energy_spectrum"), energy, 1e-14 * energy);
    EXPECT_NEAR(integral(result, "dissipation_spectrum"), attribute(result, "dissipation"),
                1e-14 * attribute(result, "dissipation"));
    std::int64_t modes = 0;
    for (const std::int64_t count : test::integers(result, "modes")) modes += count;
    EXPECT_EQ(modes, cells.product());
  }
}

TEST(Turbulence, HasTheShellsOfADirectTransform) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const std::array<double, 3> length{3.0, 5.0, 4.0};
  for (const mesh::Int3 cells : {mesh::Int3{6, 8, 7}, {8, 6, 1}}) {
    const FlowGrids flow = test::random_flow(cells, 7);

    const auto result = measured(world, flow, length);

    if (world.rank() != 0) continue;
    const double longest = 5.0;
    std::vector<double> energy(numbers(result, "k").size());
    double over_k = 0.0;
    for (const Grid& component : flow)
      for (const auto& [wave, amplitude] : test::direct_transform(component)) {
        const double z = cells.z == 1 ? 0.0 : wave.z / length[2];
        const double q = std::sqrt(std::pow(wave.x / length[0], 2) + std::pow(wave.y / length[1], 2) + z * z);
        energy.at(static_cast<std::size_t>(q * longest + 0.5)) += 0.5 * std::norm(amplitude) * longest / (2 * pi);
        if (q > 0) over_k += 0.5 * std::norm(amplitude) / (2 * pi * q);
      }
    for (std::size_t shell = 0; shell < energy.size(); ++shell) {
      EXPECT_NEAR(numbers(result, "energy_spectrum")[shell], energy[shell], 1e-12) << shell;
      EXPECT_NEAR(numbers(result, "k")[shell], 2 * pi / longest * static_cast<double>(shell), 1e-14);
    }
    const double u = attribute(result, "rms_velocity");
    EXPECT_NEAR(attribute(result, "integral_scale"), (cells.z == 1 ? 2.0 : pi / 2) * over_k / (u * u), 1e-12);
  }
}

TEST(Turbulence, HasTheGradientsOfTheSumOfAllWaves) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const std::array<double, 3> length{3.0, 5.0, 4.0};
  const FlowGrids flow = test::random_flow({8, 7, 6}, 11);

  const auto result = measured(world, flow, length, "viscosity = 1.0");

  if (world.rank() != 0) return;
  double skewness = 0.0, squares = 0.0;
  for (std::size_t c = 0; c < 3; ++c)
    for (int axis = 0; axis < 3; ++axis) {
      const Grid gradient = test::direct_derivative(flow[c], axis, length[static_cast<std::size_t>(axis)]);
      const double variance = test::mean_power(gradient, 2),
                   third = test::mean_power(gradient, 3) / std::pow(variance, 1.5);
      const std::size_t place = 3 * c + static_cast<std::size_t>(axis);
      EXPECT_NEAR(numbers(result, "gradient_variance")[place], variance, 1e-12 * variance);
      EXPECT_NEAR(numbers(result, "gradient_skewness")[place], third, 1e-12);
      EXPECT_NEAR(numbers(result, "gradient_flatness")[place], test::mean_power(gradient, 4) / variance / variance,
                  1e-11);
      if (static_cast<int>(c) == axis) skewness += third / 3;
      squares += variance;
    }
  EXPECT_NEAR(attribute(result, "longitudinal_skewness"), skewness, 1e-12);
  // 2 Omega and the squared divergence are all squared gradients of a periodic flow.
  EXPECT_NEAR(2 * attribute(result, "enstrophy") + std::pow(attribute(result, "rms_divergence"), 2), squares,
              1e-12 * squares);
}

TEST(Turbulence, CountsGradientsByTheirStandardDeviation) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const FlowGrids flow = test::random_flow({9, 7, 5}, 2);

  const auto result = measured(world, flow, two_pi, "pdf_bins = 7\npdf_width = 2.0");

  if (world.rank() != 0) return;
  std::vector<double> counts(7);
  for (int axis = 0; axis < 3; ++axis) {
    const Grid gradient = test::direct_derivative(flow[static_cast<std::size_t>(axis)], axis, 2 * pi);
    const double deviation = std::sqrt(test::mean_power(gradient, 2));
    for (const double value : gradient.values)
      if (std::fabs(value / deviation) < 2.0)
        counts.at(static_cast<std::size_t>((value / deviation + 2.0) / 4.0 * 7)) += 1.0;
  }
  for (std::size_t bin = 0; bin < 7; ++bin) {
    EXPECT_NEAR(numbers(result, "longitudinal_gradient_pdf")[bin], counts[bin] / (3 * 315) / (4.0 / 7), 1e-12) << bin;
    EXPECT_NEAR(numbers(result, "deviation")[bin], -2.0 + (static_cast<double>(bin) + 0.5) * 4.0 / 7, 1e-14);
  }
}

// A passive scalar sin(2 x) in the flow u = sin(2 x): its flux is their mean product.
TEST(Turbulence, MeasuresScalarsByName) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const mesh::Int3 cells{16, 8, 4};
  const FlowGrids flow = test::flow_of(cells, [](double x, double, double) {
    return std::array{std::sin(2 * x), 0.0, 0.5};
  });
  Grid dye = flow[0];
  for (double& value : dye.values) value = 3.0 + 2.0 * value;
  const auto layout = test::random_layout(cells, periodic, world.size(), 6, 1);
  mesh::Snapshot snapshot = test::flow_snapshot(flow, layout, {2 * pi, 2 * pi, 2 * pi}, world.rank());
  snapshot.add({"dye", "kg"}, dye.on(layout, world.rank()));
  snapshot.length_unit = "m";
  snapshot.moment.attributes["dye_diffusivity"] = 0.25;

  const auto result = test::analysis_of("analysis = 'turbulence'\nscalars = ['dye']")->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_NEAR(attribute(result, "dye_mean"), 3.0, 1e-14);
  EXPECT_NEAR(attribute(result, "dye_variance"), 2.0, 1e-14);
  EXPECT_NEAR(attribute(result, "dye_dissipation"), 2 * 0.25 * 4 * 2.0, 1e-13);
  EXPECT_NEAR(numbers(result, "dye_spectrum")[2], 2.0, 1e-14);
  EXPECT_NEAR(numbers(result, "dye_flux")[0], 1.0, 1e-14);
  EXPECT_NEAR(numbers(result, "dye_flux")[2], 0.0, 1e-14);
  EXPECT_EQ(result.column("dye_spectrum").unit, "(kg)^2 m");
}

TEST(Turbulence, TakesTheViscosityOfTheSimulationUnlessItIsGiven) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::one_box({8, 8, 8});
  mesh::Snapshot snapshot = test::flow_snapshot(test::taylor_green({8, 8, 8}), layout, two_pi, world.rank());
  snapshot.moment.attributes = {{"viscosity", 0.5}, {"k_max", 2.5}};
  const auto told = test::analysis_of("analysis = 'turbulence'")->run(world, snapshot),
             given = test::analysis_of("analysis = 'turbulence'\nviscosity = 0.25")->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_NEAR(attribute(told, "dissipation"), 2 * attribute(given, "dissipation"), 1e-14);
  EXPECT_NEAR(attribute(told, "k_max_eta"), 2.5 * attribute(told, "kolmogorov_scale"), 1e-14);
}

// w is rounding of waves that cancel: its gradients have no skewness and no part in means and histograms.
TEST(Turbulence, LeavesOutGradientsThatVanishButForRounding) {
  const comm::Communicator world(MPI_COMM_WORLD);
  FlowGrids flow = test::taylor_green({16, 16, 16});
  for (std::size_t i = 0; i < flow[2].values.size(); ++i) flow[2].values[i] = 1e-17 * core::normal(3, 1, i);

  const auto result = measured(world, flow, two_pi, "pdf_bins = 40\npdf_width = 4.0");

  if (world.rank() != 0) return;
  EXPECT_EQ(numbers(result, "gradient_flatness")[8], 0.0);
  EXPECT_GT(numbers(result, "gradient_variance")[8], 0.0);
  // <cos^4>^3 / <cos^2>^6 = (3 / 8)^3 / (1 / 2)^6, of both that are left; their sum of bins is all there is.
  EXPECT_NEAR(attribute(result, "longitudinal_flatness"), 27.0 / 8.0, 1e-13);
  EXPECT_NEAR(attribute(result, "longitudinal_skewness"), 0.0, 1e-15);
  double share = 0.0;
  for (const double density : numbers(result, "longitudinal_gradient_pdf")) share += density * 0.2;
  EXPECT_NEAR(share, 1.0, 1e-14);
}

TEST(Turbulence, OfFluidAtRestIsZero) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const FlowGrids rest{Grid({8, 8, 8}), Grid({8, 8, 8}, 2.0), Grid({8, 8, 8})};

  const auto result = measured(world, rest, two_pi, "viscosity = 0.1");

  if (world.rank() != 0) return;
  EXPECT_EQ(attribute(result, "kinetic_energy"), 2.0);
  for (const char* name : {"rms_velocity", "integral_scale", "taylor_scale", "dissipation", "kolmogorov_scale",
                           "taylor_reynolds_number", "longitudinal_skewness"})
    EXPECT_EQ(attribute(result, name), 0.0) << name;
}

TEST(Turbulence, NamesTheUnitsOfWhatItMeasures) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::one_box({8, 8, 8});
  mesh::Snapshot snapshot = test::snapshot_on(layout, 10.0);
  snapshot.length_unit = "Mpc";
  for (const char* name : {"velocity_x", "velocity_y", "velocity_z"})
    snapshot.add({name, "km/s"}, test::random_field({8, 8, 8}, 4).on(layout, world.rank()));

  const auto result = test::analysis_of("analysis = 'turbulence'\nviscosity = 1.0")->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_EQ(result.column("k").unit, "Mpc^-1");
  EXPECT_EQ(result.column("energy_spectrum").unit, "(km/s)^2 Mpc");
  EXPECT_EQ(result.column("dissipation_spectrum").unit, "(km/s)^3");
  EXPECT_EQ(result.column("gradient_variance").unit, "(km/s)^2 Mpc^-2");
}

TEST(Turbulence, SaysWhatItCannotMeasure) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto analysis = test::analysis_of("analysis = 'turbulence'");
  const auto layout = test::one_box({8, 8, 8}), walled = test::one_box({8, 8, 8}, {true, false, true});
  mesh::Snapshot still = test::snapshot_on(layout, 1.0);
  still.add({"velocity_x", "1"}, Grid({8, 8, 8}).on(layout, world.rank()));
  const auto flow = test::random_flow({8, 8, 8}, 1);

  EXPECT_THAT(test::message_of([&] { analysis->run(world, still); }), HasSubstr("no `velocity_y`"));
  EXPECT_THAT(test::message_of([&] { analysis->run(world, test::flow_snapshot(flow, walled, two_pi, world.rank())); }),
              HasSubstr("not periodic along y"));
  EXPECT_THAT(test::message_of([&] { analysis->check(mesh::domain_of({16, 1, 1})); }), HasSubstr("16 x 1 x 1"));
  EXPECT_THAT(test::message_of([] { test::analysis_of("analysis = 'turbulence'\nviscosity = -1.0"); }),
              HasSubstr("viscosity"));
  EXPECT_THAT(test::message_of(
                  [] { test::analysis_of("analysis = 'turbulence'\nscalars = ['a', 'b']\ndiffusivities = [1.0]"); }),
              HasSubstr("1 diffusivities of 2 scalars"));
}

TEST(Turbulence, OfVelocitiesBeyondAllNumbersIsRefused) {
  const comm::Communicator world(MPI_COMM_WORLD);
  FlowGrids flow = test::random_flow({8, 8, 8}, 1);
  for (double& value : flow[1].values) value *= 1e200;

  EXPECT_THAT(test::message_of([&] { measured(world, flow, two_pi); }), HasSubstr("beyond the largest number"));
}

// Isotropic relations: a spectrum of one shell at k has L = 3 pi / (4 k), lambda = sqrt(5) / k in three dimensions.
TEST(FlowScales, AreThoseOfIsotropicTurbulence) {
  const double energy = 0.75, k = 4.0;
  const FlowScales volume = flow_scales({energy, energy / k, 2 * k * k * energy, 3}),
                   plane = flow_scales({energy, energy / k, 2 * k * k * energy, 2});

  EXPECT_NEAR(volume.rms_velocity, std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(volume.integral_scale, 3 * pi / (4 * k), 1e-14);
  EXPECT_NEAR(volume.taylor_scale, std::sqrt(5.0) / k, 1e-14);
  EXPECT_NEAR(plane.rms_velocity, std::sqrt(0.75), 1e-15);
  EXPECT_NEAR(plane.integral_scale, 2 / k, 1e-14);  // of 2 J_1(k r) / (k r)
  EXPECT_NEAR(plane.taylor_scale, 2.0 / k, 1e-14);  // 1 - (k r)^2 / 8 = 1 - r^2 / (2 lambda^2)
}

}  // namespace
}  // namespace sidestream::analysis
