// The gas solver against exact and converged solutions.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "sidestream/mesh/forest.hpp"
#include "support/gas_run.hpp"
#include "support/places.hpp"
#include "support/world.hpp"

namespace sidestream::test {
namespace {

using namespace solvers;
using mesh::Int3;

// Tolerances. "PPM" stands for errors that a method-of-lines code with parabolic reconstruction, HLLC and Runge-Kutta
// makes on the same meshes; a solver that traces characteristics is to do as well, so limits are those errors and a
// little room for the flattening.
constexpr double sod_l1_100 = 2.9e-3, sod_l1_200 = 1.7e-3;            // two-shock; PPM: 2.89e-3, 1.59e-3
constexpr double sod_l1_100_hllc = 3.8e-3, sod_l1_200_hllc = 2.1e-3;  // PLM: 4.1e-3, 2.4e-3
constexpr double shu_osher_200 = 7.3e-2, shu_osher_400 = 3.8e-2;      // PPM
constexpr double vortex_32 = 2.7e-3, vortex_64 = 1.0e-3;              // PPM
constexpr double sound_128 = 1.4e-3, entropy_128 = 9.0e-4;            // PPM, in units of the amplitude
constexpr double least_order = 2.0;                                   // from 16 to 128 cells
constexpr double oblique_24 = 3e-2, oblique_order = 1.7;              // extrema are clipped on 12 cells a wavelength
constexpr double noh_density = 0.02;  // relative; the fronts are two or three cells wide, the wall is not looked at
constexpr double adiabat_of_cold_gas = 5e-3;  // relative error of p / rho^gamma at Mach 1000
constexpr double sedov_peak = 2.3;            // of the shell mean on 32^3 cells; exact 6, PPM without flattening 2.9

using test::world;

/// Rows of numbers of a reference file; lines with # are comments.
std::vector<std::vector<double>> read_table(const std::string& name) {
  std::ifstream file(test::test_data(name));
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream text(line);
    rows.emplace_back();
    for (double value; text >> value;) rows.back().push_back(value);
  }
  return rows;
}

/// Means of column `column` of a table over each of `cells` equal groups of rows.
std::vector<double> cell_means(const std::vector<std::vector<double>>& table, std::size_t column, std::size_t cells) {
  const std::size_t group = table.size() / cells;
  std::vector<double> means(cells);
  for (std::size_t n = 0; n < cells * group; ++n) means[n / group] += table[n][column] / static_cast<double>(group);
  return means;
}

/// A tube of `cells` cells along `axis`, one or more blocks a rank.
struct Tube {
  Tube(int axis_, int cells, double length, const HydroConfig& config, bool periodic, const Boundaries& boundaries = {})
      : axis(axis_) {
    Int3 extent{1, 1, 1};
    extent[axis] = cells;
    std::array<double, 3> lengths{1.0, 1.0, 1.0};
    lengths[static_cast<std::size_t>(axis)] = length;
    Int3 parts{1, 1, 1};
    parts[axis] = world().size();
    mesh::Periodicity periods{true, true, true};
    periods[static_cast<std::size_t>(axis)] = periodic;
    const auto geometry = geometry_of(extent, lengths, periods);
    run.emplace(world(), geometry, mesh::split(geometry.domain, parts, periods), config, boundaries);
  }
  void start(const std::function<Gas(double)>& initial) {
    run->start([&](double x, double y, double z) {
      const std::array<double, 3> at{x, y, z};
      Gas gas = initial(at[static_cast<std::size_t>(axis)]);
      if (axis == 1) std::swap(gas.u, gas.v);
      if (axis == 2) std::swap(gas.u, gas.w);
      return gas;
    });
  }
  static int along(int axis, int k, int j, int i) { return axis == 0 ? i : axis == 1 ? j : k; }
  /// Density of all cells, on every rank.
  std::vector<double> density_profile(std::size_t cells) const {
    std::vector<double> profile(cells);
    run->for_each([&](const Gas& gas, int k, int j, int i) {
      profile[static_cast<std::size_t>(along(axis, k, j, i))] = gas.rho;
    });
    for (double& value : profile) value = world().max(value);
    return profile;
  }

  int axis;
  std::optional<GasRun> run;
};

double mean_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += std::fabs(a[n] - b[n]);
  return sum / static_cast<double>(a.size());
}

Gas sod(double x) {
  return x < 0.5 ? Gas{1.0, 0.0, 0.0, 0.0, 1.0} : Gas{0.125, 0.0, 0.0, 0.0, 0.1};
}

std::vector<double> sod_profile(int axis, int cells, const std::string& riemann) {
  HydroConfig config;
  config.gamma = 1.4;
  config.riemann = riemann;
  Tube tube(axis, cells, 1.0, config, false);
  tube.start(sod);
  tube.run->run(0.2);
  return tube.density_profile(static_cast<std::size_t>(cells));
}

TEST(Sod, IsNearTheExactSolution) {
  const auto exact = read_table("sod_exact_t0.2.csv");
  ASSERT_EQ(exact.size(), 200u);
  const auto coarse = cell_means(exact, 1, 100), fine = cell_means(exact, 1, 200);

  EXPECT_LT(mean_difference(sod_profile(0, 100, "two-shock"), coarse), sod_l1_100);
  EXPECT_LT(mean_difference(sod_profile(0, 200, "two-shock"), fine), sod_l1_200);
  EXPECT_LT(mean_difference(sod_profile(0, 100, "hllc"), coarse), sod_l1_100_hllc);
  EXPECT_LT(mean_difference(sod_profile(0, 200, "hllc"), fine), sod_l1_200_hllc);
}

TEST(Sod, IsTheSameToTheBitAlongXYAndZ) {
  const auto x = sod_profile(0, 100, "two-shock"), y = sod_profile(1, 100, "two-shock"),
             z = sod_profile(2, 100, "two-shock");

  EXPECT_EQ(x, y);
  EXPECT_EQ(x, z);
}

TEST(Toro2, StaysPositiveWhereTheGasIsTornApart) {
  for (const char* riemann : {"two-shock", "hllc"}) {
    HydroConfig config;
    config.gamma = 1.4;
    config.riemann = riemann;
    Tube tube(0, 200, 1.0, config, false);
    tube.start([](double x) { return Gas{1.0, x < 0.5 ? -2.0 : 2.0, 0.0, 0.0, 0.4}; });

    tube.run->run(0.15);

    double least_rho = 1.0, least_p = 1.0;
    tube.run->for_each([&](const Gas& gas, int, int, int) {
      least_rho = std::min(least_rho, gas.rho), least_p = std::min(least_p, gas.p);
    });
    EXPECT_GT(world().min(least_p), 0.0);
    EXPECT_NEAR(world().min(least_rho), 0.0219, 0.006);
    EXPECT_EQ(tube.run->counts.density_floors, 0);
  }
}

TEST(ShuOsher, IsNearTheConvergedSolution) {
  const auto reference = read_table("shu_osher_t1.8.csv");
  ASSERT_EQ(reference.size(), 800u);
  for (const auto& [cells, limit] : {std::pair{200, shu_osher_200}, {400, shu_osher_400}}) {
    HydroConfig config;
    config.gamma = 1.4;
    Tube tube(0, cells, 10.0, config, false);
    tube.start([](double x) {
      return x < 1.0 ? Gas{3.857143, 2.629369, 0.0, 0.0, 10.33333}
                     : Gas{1.0 + 0.2 * std::sin(5.0 * (x - 5.0)), 0.0, 0.0, 0.0, 1.0};
    });

    tube.run->run(1.8);

    const auto n = static_cast<std::size_t>(cells);
    EXPECT_LT(mean_difference(tube.density_profile(n), cell_means(reference, 1, n)), limit);
  }
}

/// Mean error over amplitude of a wave of density that goes once round, with the cell averages of a sine.
double wave_error(int cells, bool is_sound) {
  constexpr double amplitude = 1e-6, turn = 2.0 * M_PI;
  const double average = std::sin(M_PI / cells) / (M_PI / cells);
  const auto wave = [=](double x) { return amplitude * average * std::sin(turn * x); };
  Tube tube(0, cells, 1.0, {}, true);
  tube.start([&](double x) {
    return is_sound ? Gas{1.0 + wave(x), wave(x), 0.0, 0.0, 0.6 + wave(x)} : Gas{1.0 + wave(x), 1.0, 0.0, 0.0, 0.6};
  });
  tube.run->run(1.0);
  return tube.run->mean_error([](const Gas& gas) { return gas.rho; },
                              [&](double x, double, double) { return 1.0 + wave(x); }) /
         amplitude;
}

TEST(Waves, ConvergeAtSecondOrderAlongAnAxis) {
  for (const bool is_sound : {true, false}) {
    const double coarse = wave_error(16, is_sound), fine = wave_error(128, is_sound);

    EXPECT_LT(fine, is_sound ? sound_128 : entropy_128);
    EXPECT_GT(std::log2(coarse / fine) / 3.0, least_order);
  }
}

double oblique_error(int cells) {
  constexpr double amplitude = 1e-6, turn = 2.0 * M_PI;
  const auto geometry = geometry_of({2 * cells, cells, cells}, {3.0, 1.5, 1.5});
  GasRun run(world(), geometry, mesh::split(geometry.domain, {world().size(), 1, 1}), {});
  const auto wave = [](double x, double y, double z) {
    return amplitude * std::sin(turn * (x + 2.0 * y + 2.0 * z) / 3.0);
  };
  run.start([&](double x, double y, double z) {
    const double s = wave(x, y, z);
    return Gas{1.0 + s, s / 3.0, 2.0 * s / 3.0, 2.0 * s / 3.0, 0.6 + s};
  });
  run.run(1.0);
  return run.mean_error([](const Gas& gas) { return gas.rho; },
                        [&](double x, double y, double z) { return 1.0 + wave(x, y, z); }) /
         amplitude;
}

TEST(Waves, ConvergeInAnObliqueDirection) {
  const double coarse = oblique_error(12), fine = oblique_error(24);

  EXPECT_LT(fine, oblique_24);
  EXPECT_GT(std::log2(coarse / fine), oblique_order);
}

double vortex_error(int cells) {
  HydroConfig config;
  config.gamma = 1.4;
  const auto geometry = geometry_of({cells, cells, 1}, {10.0, 10.0, 1.0});
  GasRun run(world(), geometry, mesh::split(geometry.domain, {1, world().size(), 1}), config);
  const auto vortex = [](double x, double y, double) {
    const double dx = x - 5.0, dy = y - 5.0, r2 = dx * dx + dy * dy, strength = 5.0;
    const double t = 1.0 - 0.4 * strength * strength * std::exp(1.0 - r2) / (8.0 * 1.4 * M_PI * M_PI);
    const double turn = strength / (2.0 * M_PI) * std::exp(0.5 * (1.0 - r2));
    return Gas{std::pow(t, 2.5), 1.0 - turn * dy, 1.0 + turn * dx, 0.0, std::pow(t, 3.5)};
  };
  run.start(vortex);
  run.run(10.0);
  return run.mean_error([](const Gas& gas) { return gas.rho; },
                        [&](double x, double y, double z) { return vortex(x, y, z).rho; });
}

TEST(Vortex, ComesBackToWhereItWas) {
  EXPECT_LT(vortex_error(32), vortex_32);
  EXPECT_LT(vortex_error(64), vortex_64);
}

class CollidingStreams : public testing::TestWithParam<double> {};

TEST_P(CollidingStreams, HeatTheGasBetweenTheShocks) {
  HydroConfig config;
  config.dual_energy_eta = GetParam();
  Tube tube(0, 200, 2.0, config, false);
  tube.start([](double x) { return Gas{1.0, x < 1.0 ? 1.0 : -1.0, 0.0, 0.0, 1e-6}; });

  tube.run->run(1.2);

  tube.run->for_each([](const Gas& gas, int, int, int i) {
    const double distance = std::fabs((i + 0.5) / 100.0 - 1.0);
    if (distance < 0.1 || distance > 0.34) return;
    EXPECT_NEAR(gas.rho, 4.0, 4.0 * noh_density);
    EXPECT_NEAR(gas.p, 4.0 / 3.0, 4.0 / 3.0 * noh_density);
  });
}

INSTANTIATE_TEST_SUITE_P(Physics, CollidingStreams, testing::Values(0.0, 1e-3));

/// Largest relative error of p / rho^gamma in streams of Mach 1000 half way to crossing.
double adiabat_error(Int3 cells, double bulk) {
  const double pressure_before = 0.6e-6;  // the sound speed is 1e-3
  const auto geometry = geometry_of(cells, {1.0, 1.0, 1.0});
  Int3 parts{1, 1, 1};
  parts[cells.z > 1 ? 2 : 0] = world().size();
  GasRun run(world(), geometry, mesh::split(geometry.domain, parts), {});
  const bool is_3d = cells.z > 1;
  run.start([=](double x, double y, double z) {
    const double wave = std::sin(2.0 * M_PI * (is_3d ? x + y + z : x));
    if (!is_3d) return Gas{1.0, bulk + wave, 0.0, 0.0, pressure_before};
    const double u = wave / std::sqrt(3.0);
    return Gas{1.0, bulk + u, bulk + u, bulk + u, pressure_before};
  });
  run.run(0.5 / (2.0 * M_PI * (is_3d ? std::sqrt(3.0) : 1.0)));
  double worst = 0.0, densest = 0.0;
  run.for_each([&](const Gas& gas, int, int, int) {
    worst = std::max(worst, std::fabs(gas.p / std::pow(gas.rho, 5.0 / 3.0) / pressure_before - 1.0));
    densest = std::max(densest, gas.rho);
  });
  EXPECT_GT(world().max(densest), 1.8);
  return world().max(worst);
}

TEST(ColdFlow, StaysOnItsAdiabatUntilStreamsCross) {
  EXPECT_LT(adiabat_error({64, 1, 1}, 0.0), adiabat_of_cold_gas);
  EXPECT_LT(adiabat_error({32, 1, 1}, 1.0), adiabat_of_cold_gas);
  EXPECT_LT(adiabat_error({32, 32, 32}, 1.0), adiabat_of_cold_gas);
}

TEST(Blast, IsSymmetricToTheBitAndKeepsItsEnergy) {
  if (world().rank() != 0) return;  // one rank holds it all
  HydroConfig config;
  config.gamma = 1.4;
  config.dual_energy_eta = 0.0;
  constexpr int n = 32;
  const auto geometry = geometry_of({n, n, n}, {0.5, 0.5, 0.5}, {false, false, false});
  Boundaries boundaries;
  for (auto& side : boundaries.side) side = {BoundaryKind::reflecting, BoundaryKind::outflow};
  const comm::Communicator alone(MPI_COMM_SELF);
  GasRun run(alone, geometry, mesh::split(geometry.domain, {1, 1, 1}, geometry.periodic), config, boundaries);
  const double radius = 3.5 * 0.5 / n;
  const auto distance = [](double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); };
  int hot = 0;
  core::for_each_cell(geometry.domain, [&](int k, int j, int i) { hot += distance(i + 0.5, j + 0.5, k + 0.5) < 3.5; });
  const double p = 0.4 * 0.125 / (hot * geometry.cell_volume());
  run.start([&](double x, double y, double z) {
    return Gas{1.0, 0.0, 0.0, 0.0, distance(x, y, z) < radius ? p : 1e-5};
  });
  const double energy = run.total(total_energy);

  run.run(0.05);

  EXPECT_NEAR(run.total(total_energy), energy, 1e-12 * energy);
  const auto u = run.state().view(0);
  int different = 0;
  std::vector<double> sum(2 * n), count(2 * n);
  core::for_each_cell(geometry.domain, [&](int k, int j, int i) {
    for (const int c : {density, total_energy})
      different +=
          (u(c, k, j, i) != u(c, k, i, j)) + (u(c, k, j, i) != u(c, j, k, i)) + (u(c, k, j, i) != u(c, i, j, k));
    different +=
        (u(momentum_x, k, j, i) != u(momentum_y, k, i, j)) + (u(momentum_x, k, j, i) != u(momentum_z, i, j, k));
    const auto shell = static_cast<std::size_t>(distance(i + 0.5, j + 0.5, k + 0.5));
    sum[shell] += u(density, k, j, i);
    count[shell] += 1.0;
  });
  EXPECT_EQ(different, 0);
  std::size_t peak = 0;
  for (std::size_t shell = 0; shell < n; ++shell)
    if (sum[shell] / count[shell] > sum[peak] / count[peak]) peak = shell;
  EXPECT_NEAR((static_cast<double>(peak) + 0.5) * 0.5 / n, 0.3116, 0.5 / n);  // the exact radius of the shock
  EXPECT_GT(sum[peak] / count[peak], sedov_peak);
}

}  // namespace
}  // namespace sidestream::test
