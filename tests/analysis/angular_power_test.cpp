// Power by the angle to an axis.
#include "analysis/statistics/angular_power.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "analysis/grid.hpp"
#include "analysis/statistics/spectrum.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using std::numbers::pi;
using test::Grid;

// Of one field.
AngularPower power_of(const comm::Communicator& world, const Spectrum& spectrum, double mean,
                      const mesh::Geometry& geometry, int axis, std::int64_t bins) {
  return angular_powers(world, std::vector<RelativeField>{{spectrum, mean}}, std::vector<FieldPair>{{0, 0}}, geometry,
                        {}, axis, bins)
      .front();
}

AngularPower measured(const comm::Communicator& world, const Grid& grid, const mesh::Geometry& geometry, double mean,
                      int axis, std::int64_t bins) {
  const auto layout = test::random_layout(grid.cells, {true, true, true}, world.size(), 12, 3);
  const Spectrum spectrum = transform(world, fft::FftPlan<double>(world, layout), grid.on(layout, world.rank()));
  return power_of(world, spectrum, mean, geometry, axis, bins);
}

// A wave of amplitude A is two modes, k and -k, of |delta_k|^2 = A^2 / 4: one shell and one bin hold its power.
TEST(AngularPower, OfAPlaneWaveIsInItsShellAndAtItsAngle) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const double amplitude = 0.2, side = 30.0, volume = side * side * side;
  constexpr std::int64_t bins = 5;
  for (const Int3 wave : {Int3{3, 0, 0}, Int3{0, 0, -4}, Int3{2, 3, -6}, Int3{1, -2, 2}, Int3{5, 5, 1}}) {
    const Grid grid = Grid::of({16, 16, 16}, [&](int k, int j, int i) {
      return 2 * (1 + amplitude * std::cos(2 * pi * (wave.x * i + wave.y * j + wave.z * k) / 16 + 0.4));
    });
    for (int axis = 0; axis < 3; ++axis) {
      const AngularPower found = measured(world, grid, {grid.domain(), {side, side, side}}, 2.0, axis, bins);

      if (world.rank() != 0) continue;
      const double k = std::sqrt(wave.x * wave.x + wave.y * wave.y + wave.z * wave.z), mu = std::abs(wave[axis]) / k,
                   both = volume * 2 * amplitude * amplitude / 4;
      const auto shell = static_cast<std::size_t>(k + 0.5) - 1,
                 place = shell * bins + static_cast<std::size_t>(std::min(mu * 5, 4.0));
      ASSERT_EQ(found.shell_k.size(), 8u);
      double modes = 0;
      for (std::size_t bin = 0; bin < bins; ++bin) modes += static_cast<double>(found.modes[shell * bins + bin]);
      for (std::size_t p = 0; p < found.power.size(); ++p)
        EXPECT_NEAR(found.power[p] * static_cast<double>(found.modes[p]), p == place ? both : 0.0, 1e-12 * volume);
      const double second = (3 * mu * mu - 1) / 2, fourth = (35 * std::pow(mu, 4) - 30 * mu * mu + 3) / 8;
      EXPECT_NEAR(found.monopole[shell], both / modes, 1e-13 * volume);
      EXPECT_NEAR(found.quadrupole[shell], 5 * second * both / modes, 1e-13 * volume);
      EXPECT_NEAR(found.hexadecapole[shell], 9 * fourth * both / modes, 1e-13 * volume);
    }
  }
}

TEST(AngularPower, OfWhiteNoiseIsFlatAtItsVarianceInEveryDirection) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const double sigma = 0.1, level = sigma * sigma;  // times the volume of a cell, 1
  Grid grid({32, 32, 32});
  for (std::size_t i = 0; i < grid.values.size(); ++i) grid.values[i] = 1 + sigma * core::normal(5, 1, i);

  const AngularPower found = measured(world, grid, test::unit_cells(grid.cells), 1.0, 2, 4);

  if (world.rank() != 0) return;
  for (std::size_t p = 0; p < found.power.size(); ++p)
    if (found.modes[p] > 0) {
      EXPECT_NEAR(found.power[p], level, 5 * level * std::sqrt(2.0 / static_cast<double>(found.modes[p]))) << p;
      EXPECT_NEAR(found.mu[p], (static_cast<double>(p % 4) + 0.5) / 4, 0.1251);
    }
  for (std::size_t shell = 3; shell < found.shell_k.size(); ++shell) {
    const double modes = 4 * pi * std::pow(static_cast<double>(shell + 1), 2);
    EXPECT_NEAR(found.quadrupole[shell], 0.0, 5 * level * std::sqrt(2 * 5 / modes)) << shell;
    EXPECT_NEAR(found.hexadecapole[shell], 0.0, 5 * level * std::sqrt(2 * 9 / modes)) << shell;
  }
}

// Power that is 1 + mu^2 times that of noise: the multipoles of 1 + mu^2 are 4/3, 2/3 and 0.
TEST(AngularPower, OfNoiseSquashedAlongTheAxisHasItsMultipoles) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{48, 48, 48};
  Grid grid(cells);
  for (std::size_t i = 0; i < grid.values.size(); ++i) grid.values[i] = core::normal(6, 1, i);
  const auto layout = test::random_layout(cells, {true, true, true}, world.size(), 12, 3);
  Spectrum spectrum = transform(world, fft::FftPlan<double>(world, layout), grid.on(layout, world.rank()));
  fft::for_each_mode(spectrum, cells, [](const fft::Mode& mode, std::complex<double>& amplitude) {
    const double x = mode.wavenumber.x, y = mode.wavenumber.y, z = mode.wavenumber.z;
    amplitude *= std::sqrt(1 + y * y / std::max(1.0, x * x + y * y + z * z));
  });

  const AngularPower found = power_of(world, spectrum, 1.0, test::unit_cells(cells), 1, 10);

  if (world.rank() != 0) return;
  for (std::size_t shell = 9; shell < found.shell_k.size(); ++shell) {
    const double error = 5 * 4.0 / 3 * std::sqrt(2 / (4 * pi * std::pow(static_cast<double>(shell + 1), 2)));
    EXPECT_NEAR(found.monopole[shell], 4.0 / 3, error);
    EXPECT_NEAR(found.quadrupole[shell], 2.0 / 3, error * std::sqrt(5));
    EXPECT_NEAR(found.hexadecapole[shell], 0.0, error * std::sqrt(9));
  }
}

}  // namespace
}  // namespace sidestream::analysis
