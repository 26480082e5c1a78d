#include "sidestream/solvers/initial_conditions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "sidestream/core/for_each.hpp"
#include "sidestream/fft/modes.hpp"
#include "sidestream/mesh/forest.hpp"
#include "support/cosmologies.hpp"

namespace sidestream::solvers {
namespace {

// Tolerances. Analytic fields on a mesh: round-off. A chi-squared of a random field: five standard deviations.
constexpr double round_off = 1e-11;

const mesh::Int3 cells{16, 12, 20};
const mesh::Geometry geometry{mesh::domain_of(cells), {40.0, 30.0, 60.0}};

class InitialConditionsOn : public testing::Test {
 protected:
  comm::Communicator comm{MPI_COMM_WORLD};
  mesh::Layout layout = mesh::Forest(cells, 4).layout(comm.size());
  Background background{test::cosmology_a()};
  LinearPower power = eisenstein_hu(test::cosmology_a());
  double mean = test::cosmology_a().matter_density();

  InitialConditions drawn(const InitialConditionsConfig& config) const {
    return InitialConditions(comm, layout, geometry, background, power, config);
  }
  /// From the contrast f(x, y, z) at z = 0.
  InitialConditions given(const std::string& order, const std::function<double(double, double, double)>& f) const {
    mesh::Field<double> contrast(layout, comm.rank());
    for (int b = 0; b < contrast.blocks(); ++b) {
      const auto view = contrast.view(b);
      core::for_each_cell(contrast.box(b), [&](int k, int j, int i) {
        view(k, j, i) =
            f((i + 0.5) * geometry.cell_size(0), (j + 0.5) * geometry.cell_size(1), (k + 0.5) * geometry.cell_size(2));
      });
    }
    return InitialConditions(comm, contrast, geometry, background, order);
  }
  /// Where the lattice point of particle `id` is.
  static std::array<double, 3> lattice_point(std::int64_t id) {
    const std::array<std::int64_t, 3> index{id % cells.x, id / cells.x % cells.y, id / cells.x / cells.y};
    std::array<double, 3> q;
    for (std::size_t axis = 0; axis < 3; ++axis)
      q[axis] = (static_cast<double>(index[axis]) + 0.5) * geometry.cell_size(static_cast<int>(axis));
    return q;
  }
  /// How far particle n has moved from its lattice point, the short way round.
  static double displacement(const mesh::Particles& particles, std::size_t n, std::size_t axis) {
    const double moved = particles.position[axis][n] - lattice_point(particles.id[n])[axis],
                 length = geometry.length[axis];
    return moved - length * std::round(moved / length);
  }
};

InitialConditionsConfig config_of(const std::string& order, std::int64_t seed = 1) {
  InitialConditionsConfig config;
  config.order = order;
  config.seed = seed;
  return config;
}

TEST_F(InitialConditionsOn, ParticlesHaveTheBitsOfASingleRank) {
  const comm::Communicator self(MPI_COMM_SELF);
  const mesh::Layout whole(geometry.domain, {true, true, true}, {geometry.domain}, {0});
  const mesh::Particles expected =
      InitialConditions(self, whole, geometry, background, power, config_of("2lpt")).particles(0.02, mean);
  std::vector<std::size_t> place(expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) place[static_cast<std::size_t>(expected.id[n])] = n;

  const mesh::Particles particles = drawn(config_of("2lpt")).particles(0.02, mean);

  int differing = 0;
  for (std::size_t n = 0; n < particles.size(); ++n)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t other = place[static_cast<std::size_t>(particles.id[n])];
      differing += particles.position[axis][n] != expected.position[axis][other];
      differing += particles.attributes[axis].values[n] != expected.attributes[axis].values[other];
    }
  EXPECT_EQ(differing, 0);
  EXPECT_EQ(comm.sum(static_cast<std::int64_t>(particles.size())), geometry.domain.volume());
}

TEST_F(InitialConditionsOn, ParticlesAreWhereTheirCellIsOwnedAndCarryAllTheMass) {
  const mesh::Particles particles = drawn(config_of("2lpt")).particles(0.5, mean);

  for (std::size_t n = 0; n < particles.size(); ++n) {
    const mesh::Int3 cell =
        cell_of(geometry, {particles.position[0][n], particles.position[1][n], particles.position[2][n]});
    EXPECT_EQ(layout.owner(layout.find(cell)), comm.rank());
  }
  EXPECT_NEAR(particles.mass * static_cast<double>(geometry.domain.volume()) / (mean * geometry.volume()), 1.0,
              round_off);
}

TEST_F(InitialConditionsOn, SecondOrderOfTwoCrossedWavesIsExact) {
  // phi1 = c (cos kx + cos py) gives phi2 = -c^2 k^2 p^2 / (k^2 + p^2) cos kx cos py.
  const double k = 2.0 * std::numbers::pi / geometry.length[0], p = 2.0 * 2.0 * std::numbers::pi / geometry.length[1];
  const double c = 0.8, a = 0.1, growth = background.growth(a), second = background.second_order_growth(a);

  const auto particles = given("2lpt", [&](double x, double y, double) {
                           return -c * (k * k * std::cos(k * x) + p * p * std::cos(p * y));
                         }).particles(a, mean);

  const double amplitude = c * c * k * k * p * p / (k * k + p * p), speed = a * a * background.hubble(a);
  for (std::size_t n = 0; n < particles.size(); ++n) {
    const auto [x, y, z] = lattice_point(particles.id[n]);
    const double first_x = growth * c * k * std::sin(k * x);
    const double second_x = second * amplitude * k * std::sin(k * x) * std::cos(p * y);
    const double second_y = second * amplitude * p * std::cos(k * x) * std::sin(p * y);
    EXPECT_NEAR(displacement(particles, n, 0), first_x + second_x, round_off);
    EXPECT_NEAR(displacement(particles, n, 1), growth * c * p * std::sin(p * y) + second_y, round_off);
    EXPECT_NEAR(displacement(particles, n, 2), 0.0, round_off);
    const double w = speed * (background.growth_rate(a) * first_x + background.second_order_growth_rate(a) * second_x);
    EXPECT_NEAR(particles.attribute("momentum_x")[n], w, round_off * speed);
  }
}

TEST_F(InitialConditionsOn, APlaneWaveHasNoSecondOrder) {
  const double k = 3.0 * 2.0 * std::numbers::pi / geometry.length[2];
  const auto wave = [&](double, double, double z) { return 2.0 * std::cos(k * z + 0.3); };

  const auto first = given("zeldovich", wave).particles(0.2, mean), second = given("2lpt", wave).particles(0.2, mean);

  ASSERT_EQ(first.size(), second.size());
  for (std::size_t n = 0; n < first.size(); ++n) EXPECT_NEAR(first.position[2][n], second.position[2][n], round_off);
}

TEST_F(InitialConditionsOn, ParticlesGatherWhereTheContrastIsHigh) {
  const double k = 2.0 * std::numbers::pi / geometry.length[0];

  const auto particles =
      given("zeldovich", [&](double x, double, double) { return std::cos(k * x); }).particles(0.1, mean);

  for (std::size_t n = 0; n < particles.size(); ++n) {
    const double towards = -std::sin(k * lattice_point(particles.id[n])[0]);  // to the maximum at x = 0
    EXPECT_NEAR(displacement(particles, n, 0), background.growth(0.1) / k * towards, round_off);
    EXPECT_GT(particles.attribute("momentum_x")[n] * towards, 0.0);
  }
}

TEST_F(InitialConditionsOn, GasMovesWithTheParticlesAndFollowsTheContrast) {
  const InitialConditions start = drawn(config_of("zeldovich"));
  const double a = 0.01, gas_mean = 0.2 * mean;

  const InitialGas gas = start.gas(a, gas_mean);

  const comm::Communicator self(MPI_COMM_SELF);
  const mesh::Layout whole(geometry.domain, {true, true, true}, {geometry.domain}, {0});
  const mesh::Particles everyone =
      InitialConditions(self, whole, geometry, background, power, config_of("zeldovich")).particles(a, mean);
  std::vector<std::size_t> place(everyone.size());
  for (std::size_t n = 0; n < everyone.size(); ++n) place[static_cast<std::size_t>(everyone.id[n])] = n;
  const mesh::Field<double> contrast = start.density_contrast(a);
  for (int b = 0; b < gas.density.blocks(); ++b) {
    const auto rho = gas.density.view(b), velocity = gas.velocity.view(b), delta = contrast.view(b);
    core::for_each_cell(gas.density.box(b), [&](int z, int y, int x) {
      const std::size_t n = place[static_cast<std::size_t>(linear_index(geometry.domain, {x, y, z}))];
      EXPECT_EQ(velocity(1, z, y, x), everyone.attribute("momentum_y")[n]);
      EXPECT_DOUBLE_EQ(rho(z, y, x), gas_mean * (1.0 + delta(z, y, x)));
    });
  }
}

// The ratio of |delta_k|^2 to P / volume, for each mode of the contrast at z = 0.
template <typename F>
void for_each_ratio(const comm::Communicator& comm, const InitialConditions& start, const LinearPower& power, F f) {
  const mesh::Field<double> contrast = start.density_contrast(1.0);
  const fft::FftPlan<double> plan(comm, contrast.layout());
  mesh::Field<std::complex<double>> modes(plan.spectral(), comm.rank());
  plan.forward(contrast, modes);
  const auto points = static_cast<double>(contrast.layout().domain().volume());
  fft::for_each_mode(modes, plan.cells(), [&](const fft::Mode& mode, const std::complex<double>& amplitude) {
    double k_squared = 0.0;
    for (int axis = 0; axis < 3; ++axis)
      k_squared +=
          std::pow(2.0 * std::numbers::pi * mode.wavenumber[axis] / geometry.length[static_cast<std::size_t>(axis)], 2);
    const double expected = power(std::sqrt(k_squared)) / geometry.volume() * points * points;
    if (k_squared > 0.0) f(mode, std::norm(amplitude) / expected);
  });
}

TEST_F(InitialConditionsOn, FixedAmplitudesAreThoseOfThePowerSpectrum) {
  InitialConditionsConfig config = config_of("zeldovich");
  config.fixed_amplitude = true;

  for_each_ratio(comm, drawn(config), power, [](const fft::Mode&, double ratio) { EXPECT_NEAR(ratio, 1.0, 1e-7); });
}

TEST_F(InitialConditionsOn, RandomAmplitudesScatterAboutThePowerSpectrum) {
  core::ExactSum sum, weight;

  for_each_ratio(comm, drawn(config_of("zeldovich", 4)), power, [&](const fft::Mode& mode, double ratio) {
    sum.add(mode.weight * ratio);
    weight.add(mode.weight);
  });

  const double modes = comm.sum(weight);
  EXPECT_NEAR(comm.sum(sum) / modes, 1.0, 5.0 * std::sqrt(2.0 / modes));
}

TEST_F(InitialConditionsOn, SeedsGiveDifferentUniverses) {
  const auto one = drawn(config_of("zeldovich", 1)).density_contrast(1.0);
  const auto two = drawn(config_of("zeldovich", 2)).density_contrast(1.0);

  for (std::size_t n = 0; n < one.all().size(); ++n) EXPECT_NE(one.all()[n], two.all()[n]);
}

TEST_F(InitialConditionsOn, LatticeMayHaveOtherPointsThanTheMesh) {
  InitialConditionsConfig config = config_of("2lpt");
  config.particles = {8, 0, 25};
  const std::int64_t points = 8 * 12 * 25;

  const InitialConditions start = drawn(config);
  const mesh::Particles particles = start.particles(0.02, mean);

  std::vector<std::int64_t> seen(static_cast<std::size_t>(points));
  for (const auto id : particles.id) ++seen.at(static_cast<std::size_t>(id));
  comm.sum(std::span(seen));
  EXPECT_THAT(seen, testing::Each(1));
  EXPECT_NEAR(particles.mass * static_cast<double>(points) / (mean * geometry.volume()), 1.0, round_off);
  EXPECT_THROW(start.gas(0.02, mean), core::Error);
}

TEST_F(InitialConditionsOn, GasThatStartsTooLateIsRefusedByAllRanks) {
  EXPECT_THROW(drawn(config_of("zeldovich")).gas(1.0, mean), core::Error);
}

TEST_F(InitialConditionsOn, PowerSpectrumThatEndsTooSoonIsRefusedByAllRanks) {
  const LinearPower brief([](double) { return 1.0; }, 0.01, 1.0, 1.0);

  EXPECT_THROW(InitialConditions(comm, layout, geometry, background, brief, config_of("2lpt")), core::Error);
}

TEST(InitialConditions, ConfigurationIsCheckedAgainstTheKnownNames) {
  const auto config =
      initial_conditions_table().read(core::parse_toml("seed = 9\norder = \"zeldovich\"\n", "test.toml"));

  EXPECT_EQ(config.seed, 9);
  EXPECT_EQ(config.order, "zeldovich");
  EXPECT_THROW(initial_conditions_table().read(core::parse_toml("order = \"3lpt\"\n", "test.toml")), core::Error);
}

TEST(InitialConditions, RandomNumbersAreRefinedByPowersOfTwo) {
  InitialConditionsConfig config;
  EXPECT_EQ(coarser_levels(config, {48, 32, 16}), 0);
  config.random_lattice = {12, 8, 4};
  EXPECT_EQ(coarser_levels(config, {48, 32, 16}), 2);
  EXPECT_EQ(coarser_levels(config, {12, 8, 4}), 0);
  for (const mesh::Int3 points : {mesh::Int3{36, 24, 12}, mesh::Int3{24, 8, 4}, mesh::Int3{6, 4, 2}})
    EXPECT_THROW(coarser_levels(config, points), core::Error) << points.x;
}

TEST(InitialConditions, GasFollowsTheMicrowaveBackgroundAndThenCools) {
  EXPECT_NEAR(initial_gas_temperature(1.0 / 50.0, 2.7255), 49.7, 0.1);
  EXPECT_NEAR(initial_gas_temperature(1.0 / 201.0, 2.7255), 2.7255 * 201.0, 1e-9);
}

}  // namespace
}  // namespace sidestream::solvers
