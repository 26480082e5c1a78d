#include "sidestream/analysis/power_spectrum.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <numbers>

#include "analysis/run.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using std::numbers::pi;
using test::Grid;
using test::integers;
using test::numbers;

PowerSpectrum measured(const comm::Communicator& world, const Grid& grid, const mesh::Geometry& geometry,
                       const ShellOptions& shells = {}, bool deconvolve = false) {
  const auto layout = test::random_layout(grid.cells, {true, true, true}, world.size(), 12, 3);
  return power_spectrum(world, grid.on(layout, world.rank()), geometry, shells, deconvolve);
}

TEST(PowerSpectrum, OfAPlaneWaveIsItsAmplitudeInItsShell) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const double amplitude = 0.25, side = 40.0;
  const Grid grid = Grid::of({16, 16, 16}, [=](int k, int j, int) {
    return 3 * (1 + amplitude * std::cos(2 * pi * (3 * k + 4 * j) / 16 + .3));
  });

  const PowerSpectrum spectrum = measured(world, grid, {grid.domain(), {side, side, side}});

  if (world.rank() != 0) return;
  ASSERT_EQ(spectrum.k.size(), 8u);
  for (std::size_t s = 0; s < 8; ++s) {
    // Two modes (+k and -k) of |delta_k|^2 = amplitude^2 / 4.
    const double expected =
        s == 4 ? std::pow(side, 3) * 2 * amplitude * amplitude / 4 / static_cast<double>(spectrum.modes[s]) : 0.0;
    EXPECT_NEAR(spectrum.power[s], expected, 1e-12 * std::pow(side, 3)) << s;
    EXPECT_NEAR(spectrum.k[s] * side / (2 * pi), static_cast<double>(s + 1), 0.5);
  }
}

// Power by the definition: a direct transform, mode by mode.
struct Direct {
  std::vector<double> k, power;
  std::vector<std::int64_t> modes;
};
Direct directly(const Grid& grid, const mesh::Geometry& geometry, std::size_t shells) {
  const mesh::Int3 n = grid.cells;
  double mean = 0;
  for (const double value : grid.values) mean += value / static_cast<double>(grid.values.size());
  const double longest = std::max({geometry.length[0], geometry.length[1], geometry.length[2]});
  Direct direct{std::vector<double>(shells), std::vector<double>(shells), std::vector<std::int64_t>(shells)};
  const auto folded = [](int m, int size) { return 2 * m > size ? m - size : m; };
  core::for_each_cell(grid.domain(), [&](int w, int v, int u) {
    std::complex<double> sum = 0;
    core::for_each_cell(grid.domain(), [&](int k, int j, int i) {
      const double phase =
          2 * pi *
          (static_cast<double>(u * i) / n.x + static_cast<double>(v * j) / n.y + static_cast<double>(w * k) / n.z);
      sum += (grid(k, j, i) / mean - 1) * std::polar(1.0, -phase);
    });
    const double q = longest * std::sqrt(std::pow(folded(u, n.x) / geometry.length[0], 2) +
                                         std::pow(folded(v, n.y) / geometry.length[1], 2) +
                                         std::pow(folded(w, n.z) / geometry.length[2], 2));
    const auto shell = static_cast<std::size_t>(q + 0.5);
    if (shell < 1 || shell > shells) return;
    direct.modes[shell - 1] += 1;
    direct.k[shell - 1] += 2 * pi / longest * q;
    direct.power[shell - 1] +=
        geometry.volume() * std::norm(sum) / std::pow(static_cast<double>(grid.values.size()), 2);
  });
  return direct;
}

TEST(PowerSpectrum, IsThatOfADirectTransform) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const struct {
    mesh::Int3 cells;
    std::array<double, 3> length;
  } boxes[] = {{{8, 8, 8}, {10, 10, 10}}, {{6, 8, 5}, {12, 16, 10}}, {{7, 7, 9}, {5, 6, 9}}};
  for (const auto& box : boxes) {
    Grid grid = test::random_field(box.cells, 9);
    for (double& value : grid.values) value += 0.5;
    const mesh::Geometry geometry{grid.domain(), box.length};

    const PowerSpectrum spectrum = measured(world, grid, geometry);

    if (world.rank() != 0) continue;
    const Direct direct = directly(grid, geometry, spectrum.k.size());
    ASSERT_GE(spectrum.k.size(), 2u);
    EXPECT_EQ(spectrum.modes, direct.modes);
    for (std::size_t s = 0; s < spectrum.k.size(); ++s) {
      EXPECT_NEAR(spectrum.k[s], direct.k[s] / static_cast<double>(direct.modes[s]), 1e-12);
      EXPECT_NEAR(spectrum.power[s], direct.power[s] / static_cast<double>(direct.modes[s]), 1e-11 * spectrum.power[s]);
    }
  }
}

TEST(PowerSpectrum, OfNumbersOfAnySizeIsTheSameToTheBit) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto grid = [](double unit) {
    return Grid::of({8, 8, 8},
                    [=](int k, int j, int i) { return unit * (1.0 + 0.125 * ((7 * k + 3 * j + i * i) % 5)); });
  };
  const mesh::Geometry geometry{grid(1.0).domain(), {10.0, 10.0, 10.0}};
  const PowerSpectrum expected = measured(world, grid(1.0), geometry);

  for (const double unit : {0x1p-900, 0x1p515, 0x1p1000}) {
    const PowerSpectrum found = measured(world, grid(unit), geometry);
    EXPECT_EQ(found.power, expected.power) << unit;
  }
  EXPECT_THROW(measured(world, grid(0x1p1022), geometry), core::Error);
}

TEST(PowerSpectrum, OfWhiteNoiseIsFlatAtItsVariance) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const double side = 32.0, sigma = 0.1;
  Grid grid({32, 32, 32});
  for (std::size_t i = 0; i < grid.values.size(); ++i) grid.values[i] = 1 + sigma * core::normal(5, 1, i);

  const PowerSpectrum spectrum = measured(world, grid, {grid.domain(), {side, side, side}});

  if (world.rank() != 0) return;
  const double level = sigma * sigma * std::pow(side / 32, 3);
  for (std::size_t s = 0; s < spectrum.k.size(); ++s)
    EXPECT_NEAR(spectrum.power[s], level, 5 * level * std::sqrt(2.0 / static_cast<double>(spectrum.modes[s]))) << s;
}

TEST(PowerSpectrum, UndoesTheWindowOfTheCloudInCellDeposit) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Grid grid = Grid::of({16, 16, 16}, [](int, int, int i) { return 1 + 0.1 * std::cos(2 * pi * 5 * i / 16); });
  const mesh::Geometry geometry{grid.domain(), {1, 1, 1}};
  const double half = pi * 5 / 16, window = std::pow(std::sin(half) / half, 4);

  const PowerSpectrum plain = measured(world, grid, geometry), deconvolved = measured(world, grid, geometry, {}, true);

  if (world.rank() != 0) return;
  EXPECT_NEAR(deconvolved.power[4] * window, plain.power[4], 1e-13);
}

TEST(PowerSpectrum, InLogarithmicShellsHasTheSameModesInAll) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Grid grid = test::random_field({16, 16, 16}, 2);
  const mesh::Geometry geometry{grid.domain(), {1, 1, 1}};

  const PowerSpectrum few = measured(world, grid, geometry, {true, 1.0, 4}),
                      many = measured(world, grid, geometry, {true, 1.0, 8});

  if (world.rank() != 0) return;
  const auto power_below = [](const PowerSpectrum& s, double k) {
    double sum = 0;
    for (std::size_t i = 0; i < s.k.size(); ++i)
      if (s.k[i] < k) sum += s.power[i] * static_cast<double>(s.modes[i]);
    return sum;
  };
  const double edge = 2 * pi * 0.5 * std::pow(10.0, 0.75);
  EXPECT_NEAR(power_below(few, edge), power_below(many, edge), 1e-12 * power_below(few, edge));
  EXPECT_GT(power_below(few, edge), 0.0);
}

TEST(PowerSpectrumTask, ReportsInUnitsOfTheHubbleConstantAndSubtractsShotNoise) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({12, 12, 12}, {true, true, true}, world.size(), 6, 3);
  const auto snapshot = test::cosmology_snapshot(layout, world.rank());
  const std::string toml = "analysis = 'power_spectrum'\ndeconvolve = []\n";

  const auto result = test::analysis_of(toml)->run(world, snapshot);
  const auto less = test::analysis_of(toml + "subtract_shot_noise = true")->run(world, snapshot);
  const auto dark = power_spectrum(world, snapshot.field("dark_matter_density"), snapshot.geometry);

  if (world.rank() != 0) return;
  const double h = 0.7, noise = std::pow(14.2 * h, 3) / 1000;
  EXPECT_EQ(result.column("k").unit, "h/Mpc");
  EXPECT_EQ(result.column("total_density_power").unit, "(Mpc/h)^3");
  const double dark_mean = std::get<double>(result.attributes.at("dark_matter_density_mean"));
  const double share = dark_mean / std::get<double>(result.attributes.at("total_density_mean"));
  for (std::size_t s = 0; s < dark.k.size(); ++s) {
    EXPECT_NEAR(numbers(result, "k")[s], dark.k[s] / h, 1e-14 * dark.k[s] / h);
    EXPECT_NEAR(numbers(result, "dark_matter_density_power")[s], dark.power[s] * h * h * h, 1e-13 * dark.power[s]);
    EXPECT_NEAR(numbers(result, "dark_matter_density_power")[s] - numbers(less, "dark_matter_density_power")[s], noise,
                1e-10 * noise);
    EXPECT_EQ(numbers(result, "gas_density_power")[s], numbers(less, "gas_density_power")[s]);
    EXPECT_NEAR(numbers(result, "total_density_power")[s] - numbers(less, "total_density_power")[s],
                noise * share * share, 1e-9 * noise);
  }
}

// In situ as by transports that bring no particles.
TEST(PowerSpectrumTask, TakesTheNumberOfParticlesFromTheMomentAlone) {
  const comm::Communicator world(MPI_COMM_WORLD);
  auto snapshot = test::cosmology_snapshot(mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, world.size()}), world.rank());
  snapshot.moment.attributes.erase("particles");
  mesh::Particles particles;
  particles.resize(5);
  snapshot.add_species({mesh::dark_matter, std::move(particles)});
  const auto task = test::analysis_of("analysis = 'power_spectrum'\nsubtract_shot_noise = true");

  try {
    task->run(world, snapshot);
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_NE(error.message().find("`particles`"), std::string::npos);
  }
}

TEST(PowerSpectrumTask, MakesTheTotalOfItsParts) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({12, 12, 12}, {true, true, true}, world.size(), 6, 3);
  const auto parts = test::cosmology_snapshot(layout, world.rank());
  auto whole = test::snapshot_on(layout, 14.2);
  whole.moment = parts.moment;
  mesh::Field<double> sum(layout, world.rank());
  for (int b = 0; b < sum.blocks(); ++b)
    core::for_each_cell(sum.box(b), [to = sum.view(b), gas = parts.field("gas_density").view(b),
                                     dark = parts.field("dark_matter_density").view(b)](int k, int j, int i) {
      to(k, j, i) = gas(k, j, i) + dark(k, j, i);
    });
  whole.add({"total_density", "Msun/Mpc^3"}, std::move(sum));
  const auto task = test::analysis_of("analysis = 'power_spectrum'\nfields = ['total_density']\ndeconvolve = []");

  const auto from_parts = task->run(world, parts), from_whole = task->run(world, whole);

  if (world.rank() != 0) return;
  EXPECT_EQ(integers(from_parts, "modes"), integers(from_whole, "modes"));
  for (std::size_t s = 0; s < numbers(from_whole, "k").size(); ++s)
    EXPECT_NEAR(numbers(from_parts, "total_density_power")[s], numbers(from_whole, "total_density_power")[s],
                1e-11 * numbers(from_whole, "total_density_power")[s]);
}

// Waves with less than half a wave a cell: their shells hold all of the variance.
Grid some_waves(int n) {
  return Grid::of({n, n, n}, [=](int k, int j, int i) {
    const double unit = 2 * pi / n;
    return 3 + 0.5 * std::cos(unit * (3 * k + j) + 0.3) + 0.2 * std::sin(unit * (2 * j - 4 * i)) +
           0.4 * std::cos(unit * (2 * i + k - j) + 1.0);
  });
}

TEST(PowerSpectrum, ByAngleAndCrossedAddsUpToTheVariance) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({16, 16, 16}, {true, true, true}, world.size(), 12, 3);
  const Grid one = some_waves(16);
  Grid minus = one;
  double variance = 0;
  for (double& value : minus.values) {
    variance += std::pow(value / 3 - 1, 2) / 4096;
    value = 12 - 2 * value;  // of mean 6: minus the relative fluctuation
  }
  mesh::Snapshot snapshot = test::snapshot_on(layout, 20.0);
  snapshot.add({"one", "1"}, one.on(layout, world.rank()));
  snapshot.add({"same", "1"}, one.on(layout, world.rank()));
  snapshot.add({"minus", "1"}, minus.on(layout, world.rank()));

  const auto result = test::analysis_of(
                          "analysis = 'power_spectrum'\nfields = ['one', 'same', 'minus']\ncross = true\n"
                          "mu_bins = 3\naxis = 'x'")
                          ->run(world, snapshot);

  if (world.rank() != 0) return;
  const auto sum = [&](const std::string& modes, const std::string& power) {
    double all = 0;
    for (std::size_t bin = 0; bin < integers(result, modes).size(); ++bin)
      all += static_cast<double>(integers(result, modes)[bin]) * numbers(result, power)[bin] / 8000;
    return all;
  };
  EXPECT_NEAR(sum("modes", "one_power"), variance, 1e-14);
  EXPECT_NEAR(sum("mu_modes", "one_power_mu"), variance, 1e-14);
  EXPECT_NEAR(sum("mu_modes", "one_minus_cross_mu"), -variance, 1e-14);
  EXPECT_EQ(numbers(result, "one_same_cross_mu"), numbers(result, "one_power_mu"));
  EXPECT_EQ(numbers(result, "one_same_cross_quadrupole"), numbers(result, "one_power_quadrupole"));
  for (std::size_t s = 0; s < 8; ++s)
    EXPECT_NEAR(numbers(result, "one_minus_cross")[s], -numbers(result, "one_power")[s], 1e-11);
  // (2 j - 4 i) is the only wave in the shell of 4: mu = 4 / sqrt(20) along x, in the last of three bins.
  EXPECT_NEAR(numbers(result, "one_power_mu")[3 * 3 + 2] * static_cast<double>(integers(result, "mu_modes")[3 * 3 + 2]),
              8000 * 2 * std::pow(0.2 / 3, 2) / 4, 1e-11);
  EXPECT_NEAR(numbers(result, "one_power_mu")[3 * 3 + 1], 0.0, 1e-11);
}

// m_a^2 P_a + m_b^2 P_b + 2 m_a m_b P_ab is the power of a + b times the square of its mean.
TEST(PowerSpectrum, OfASumIsMadeOfThePowersAndTheCrossPowerOfEachPair) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({12, 12, 12}, {true, true, true}, world.size(), 7, 3);
  mesh::Snapshot snapshot = test::snapshot_on(layout, 12.0);
  std::vector<test::Grid> grids(3, test::Grid({12, 12, 12}));
  for (std::size_t n = 0; n < 3; ++n)
    for (std::size_t i = 0; i < grids[n].values.size(); ++i)
      grids[n].values[i] = 1.0 + static_cast<double>(n) + core::uniform(3, n, i);
  const auto add_field = [&](const std::string& name, const test::Grid& grid) {
    snapshot.add({name, "1"}, grid.on(layout, world.rank()));
  };
  const auto name_of = [](std::size_t n) { return std::string(1, static_cast<char>('a' + n)); };
  std::string names;
  for (std::size_t n = 0; n < 3; ++n) {
    add_field(name_of(n), grids[n]);
    names += "'" + name_of(n) + "', ";
    test::Grid sum({12, 12, 12});
    for (std::size_t i = 0; i < sum.values.size(); ++i)
      sum.values[i] = grids[n].values[i] + grids[(n + 1) % 3].values[i];
    add_field("sum" + name_of(n), sum);
    names += "'sum" + name_of(n) + "', ";
  }

  const auto result =
      test::analysis_of("analysis = 'power_spectrum'\nfields = [" + names + "]\ncross = true\nmu_bins = 3")
          ->run(world, snapshot);

  if (world.rank() != 0) return;
  for (std::size_t n = 0; n < 3; ++n) {
    const std::string a = name_of(std::min(n, (n + 1) % 3)), b = name_of(std::max(n, (n + 1) % 3));
    const auto mean = [&](const std::string& name) { return std::get<double>(result.attributes.at(name + "_mean")); };
    for (const std::string suffix : {"", "_quadrupole", "_hexadecapole", "_mu"}) {
      const auto power = [&](const std::string& name) { return numbers(result, name + suffix); };
      const auto of_sum = power("sum" + name_of(n) + "_power"), of_a = power(a + "_power"), of_b = power(b + "_power"),
                 cross = power(a + "_" + b + "_cross");
      for (std::size_t bin = 0; bin < cross.size(); ++bin)
        EXPECT_NEAR(mean(a) * mean(a) * of_a[bin] + mean(b) * mean(b) * of_b[bin] + 2 * mean(a) * mean(b) * cross[bin],
                    std::pow(mean(a) + mean(b), 2) * of_sum[bin], 1e-11)
            << a << b << suffix << " " << bin;
    }
  }
}

}  // namespace
}  // namespace sidestream::analysis
