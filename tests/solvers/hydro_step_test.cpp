// The gas solver as a whole: against its plain twin, and the properties that it promises to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sidestream/core/random.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "solvers/hydro_plain.hpp"
#include "support/gas_run.hpp"
#include "support/world.hpp"

namespace sidestream::test {
namespace {

using namespace solvers;
using mesh::Int3;
using test::alone;
using test::world;

/// Waves, shear and jumps on the unit cube, with Mach numbers around one.
Gas lively(double x, double y, double z) {
  constexpr double turn = 2.0 * M_PI;
  const double step = std::fabs(x - 0.5) + std::fabs(y - 0.4) + std::fabs(z - 0.6) < 0.3 ? 4.0 : 0.0;
  return {1.0 + 0.4 * std::sin(turn * (x + y)) + step, 0.9 * std::sin(turn * z) + 0.5, 1.1 * std::cos(turn * x),
          -0.8 * std::sin(turn * (y - x)), 0.5 + 0.3 * std::cos(turn * (y + z)) + 2.0 * step};
}

GasRun run_on(const comm::Communicator& comm, const mesh::Geometry& geometry, const mesh::Layout& layout,
              const HydroConfig& config = {}) {
  return {comm, geometry, layout, config};
}

/// The owned cells of all blocks as one array over the domain; cells of other ranks are zero.
std::vector<double> owned_cells(const GasRun& run) {
  const mesh::Box domain = run.state().layout().domain();
  std::vector<double> all(static_cast<std::size_t>(domain.volume() * gas_components));
  for (int b = 0; b < run.state().blocks(); ++b) {
    const auto view = run.state().view(b);
    core::for_each_cell(run.state().box(b), [&](int k, int j, int i) {
      for (int c = 0; c < gas_components; ++c)
        all[static_cast<std::size_t>(linear_index(domain, {i, j, k}) * gas_components + c)] = view(c, k, j, i);
    });
  }
  return all;
}

struct Case {
  const char* riemann;
  bool flattening;
};
class PlainTwin : public testing::TestWithParam<Case> {};

TEST_P(PlainTwin, AgreesWithTheFastSolverOnOddSizes) {
  if (world().size() > 1) return;  // of each rank alone
  HydroConfig config;
  config.riemann = GetParam().riemann;
  config.flattening = GetParam().flattening ? "shocks" : "none";
  config.dual_energy_eta = 0.0;
  const auto geometry = geometry_of({7, 11, 5}, {1.0, 1.2, 0.9});
  GasRun run(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}), config);
  run.start(tangled);
  const double dt = 0.8 * run.largest_step();
  std::array<double, 3> ratio{};
  for (int axis = 0; axis < 3; ++axis) ratio[static_cast<std::size_t>(axis)] = dt / geometry.cell_size(axis);
  const PlainHydro plain(
      config.gamma, ratio, config.riemann == "hllc", GetParam().flattening, [&](Int3 cell) -> PlainHydro::Vector {
        const Gas gas = tangled(run.center(0, mesh::wrapped(cell.x, 7)), run.center(1, mesh::wrapped(cell.y, 11)),
                                run.center(2, mesh::wrapped(cell.z, 5)));
        return {gas.rho, gas.u, gas.v, gas.w, gas.p};
      });

  run.step(dt);

  const auto view = run.state().view(0);
  core::for_each_cell(geometry.domain, [&](int k, int j, int i) {
    if ((i + j + k) % 11 != 0 || k % 2 != 0) return;  // the twin is slow
    const auto expected = plain.advanced({i, j, k});
    for (int c = 0; c < 5; ++c)
      EXPECT_NEAR(view(c, k, j, i), expected[static_cast<std::size_t>(c)],
                  1e-12 * std::max(1.0, std::fabs(expected[static_cast<std::size_t>(c)])))
          << c << " at " << i << " " << j << " " << k;
  });
  EXPECT_EQ(run.counts.first_order_cells, 0);
}

INSTANTIATE_TEST_SUITE_P(Hydro, PlainTwin,
                         testing::Values(Case{"two-shock", true}, Case{"two-shock", false}, Case{"hllc", true}));

TEST(Hydro, LeavesUniformFlowUnchangedInAnyDirection) {
  for (const char* riemann : {"two-shock", "hllc"}) {
    HydroConfig config;
    config.riemann = riemann;
    const auto geometry = geometry_of({12, 9, 10}, {1.0, 1.0, 1.0});
    GasRun run(world(), geometry, mesh::split(geometry.domain, {1, 1, world().size()}), config);
    run.start([](double, double, double) { return Gas{1.3, 0.7, -2.1, 0.4, 0.9}; });

    for (int step = 0; step < 20; ++step) run.step(run.largest_step());

    run.for_each([](const Gas& gas, int, int, int) {
      EXPECT_NEAR(gas.rho, 1.3, 1e-13);
      EXPECT_NEAR(gas.u, 0.7, 1e-13);
      EXPECT_NEAR(gas.v, -2.1, 1e-13);
      EXPECT_NEAR(gas.w, 0.4, 1e-13);
      EXPECT_NEAR(gas.p, 0.9, 1e-12);
    });
  }
}

TEST(Hydro, ConservesMassMomentumAndEnergyForAHundredSteps) {
  HydroConfig config;
  config.dual_energy_eta = 0.0;
  const auto geometry = geometry_of({16, 16, 16}, {1.0, 1.0, 1.0});
  const mesh::Layout layout = mesh::Forest(geometry.domain.extent(), 8).layout(world().size());
  GasRun run(world(), geometry, layout, config);
  run.start(lively);
  std::array<double, 5> before{};
  for (int c = 0; c < 5; ++c) before[static_cast<std::size_t>(c)] = run.total(c);

  for (int step = 0; step < 100; ++step) run.step(run.largest_step());

  EXPECT_GT(run.time, 0.5);
  const double momentum_scale = before[density];
  for (int c = 0; c < 5; ++c) {
    const double scale = c == density || c == total_energy ? before[static_cast<std::size_t>(c)] : momentum_scale;
    EXPECT_NEAR(run.total(c), before[static_cast<std::size_t>(c)], 1e-12 * scale) << c;
  }
  EXPECT_EQ(run.counts.density_floors + run.counts.energy_floors, 0);
}

TEST(Hydro, GivesTheSameBitsForAnyBlocksAndRanks) {
  const auto geometry = geometry_of({16, 24, 16}, {1.0, 1.5, 1.0});
  GasRun whole = run_on(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}));
  GasRun blocks = run_on(world(), geometry, mesh::Forest(geometry.domain.extent(), 8).layout(world().size()));
  GasRun slabs = run_on(world(), geometry, mesh::split(geometry.domain, {1, world().size(), 1}));

  for (GasRun* run : {&whole, &blocks, &slabs}) {
    run->start(lively);
    for (int step = 0; step < 5; ++step) run->step(0.4 * geometry.cell_size(0) / 6.0);
  }

  const auto reference = whole.state().view(0);
  for (const GasRun* run : {&blocks, &slabs})
    for (int b = 0; b < run->state().blocks(); ++b) {
      const auto view = run->state().view(b);
      int different = 0;
      core::for_each_cell(run->state().box(b), [&](int k, int j, int i) {
        for (int c = 0; c < gas_components; ++c) different += view(c, k, j, i) != reference(c, k, j, i);
      });
      EXPECT_EQ(different, 0);
    }
}

TEST(Hydro, GivesTheSameBitsForManyBlocksThatAreSweptInLongerSlices) {
  const auto geometry = geometry_of({16, 40, 16}, {1.0, 2.5, 1.0});
  const mesh::Layout one = mesh::split(geometry.domain, {1, 1, 1}), split = mesh::split(geometry.domain, {4, 1, 4});
  std::vector<mesh::Box> boxes;
  for (std::int32_t b = 0; b < 16; ++b) boxes.push_back(split.box(b));
  GasRun whole = run_on(alone(), geometry, one),
         parts = run_on(alone(), geometry, {geometry.domain, split.periodic(), boxes, std::vector<std::int32_t>(16)});

  for (GasRun* run : {&whole, &parts}) {
    run->start(lively);
    for (int step = 0; step < 3; ++step) run->step(0.4 * geometry.cell_size(0) / 6.0);
  }

  EXPECT_EQ(owned_cells(whole), owned_cells(parts));
}

/// A cell and its state after the axes have been permuted: axis a of the new problem is axis `axes[a]` of the old.
Gas permuted(const Gas& gas, std::array<int, 3> axes) {
  const std::array<double, 3> u{gas.u, gas.v, gas.w};
  const auto of = [&](std::size_t a) { return u[static_cast<std::size_t>(axes[a])]; };
  return {gas.rho, of(0), of(1), of(2), gas.p};
}

/// Steps `initial(x, y, z)` with axes exchanged in each way beside itself; returns what was done to its cells.
template <typename Initial>
HydroBooks expect_symmetry(const HydroConfig& config, Initial initial, int steps) {
  const auto geometry = geometry_of({12, 12, 12}, {1.0, 1.0, 1.0});
  const mesh::Layout layout = mesh::split(geometry.domain, {1, 1, 1});
  GasRun plain = run_on(alone(), geometry, layout, config);
  plain.start(initial);
  std::vector<double> lengths;
  for (int step = 0; step < steps; ++step) {
    lengths.push_back(plain.largest_step());
    plain.step(lengths.back());
  }

  for (const std::array<int, 3> axes : {std::array{1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}) {
    std::array<int, 3> back{};
    for (int a = 0; a < 3; ++a) back[static_cast<std::size_t>(axes[static_cast<std::size_t>(a)])] = a;
    GasRun other = run_on(alone(), geometry, layout, config);
    other.start([&](double x, double y, double z) {
      const std::array<double, 3> at{x, y, z};
      const auto old = [&](std::size_t a) { return at[static_cast<std::size_t>(back[a])]; };
      return permuted(initial(old(0), old(1), old(2)), axes);
    });
    for (const double length : lengths) other.step(length);

    int different = 0;
    const auto view = plain.state().view(0), image = other.state().view(0);
    core::for_each_cell(geometry.domain, [&](int k, int j, int i) {
      const std::array<int, 3> cell{i, j, k};
      const auto at = [&](std::size_t a) { return cell[static_cast<std::size_t>(axes[a])]; };
      different += view(density, k, j, i) != image(density, at(2), at(1), at(0));
      different += view(total_energy, k, j, i) != image(total_energy, at(2), at(1), at(0));
      different += view(internal_energy, k, j, i) != image(internal_energy, at(2), at(1), at(0));
      for (std::size_t a = 0; a < 3; ++a)
        different +=
            view(momentum_x + axes[a], k, j, i) != image(momentum_x + static_cast<int>(a), at(2), at(1), at(0));
    });
    EXPECT_EQ(different, 0);
  }
  return plain.counts;
}

TEST(Hydro, IsSymmetricUnderExchangeOfAxesToTheBit) {
  EXPECT_EQ(expect_symmetry({}, lively, 6).first_order_cells, 0);
}

TEST(Hydro, IsSymmetricUnderExchangeOfAxesWhereItFallsBackToFirstOrder) {
  HydroConfig config;
  config.dual_energy_eta = 0.0;
  EXPECT_GT(expect_symmetry(config, cold_and_tangled, 12).first_order_cells, 0);
}

TEST(Hydro, IsSymmetricUnderMirroringToTheBit) {
  const auto geometry = geometry_of({12, 10, 8}, {1.0, 1.0, 1.0});
  const mesh::Layout layout = mesh::split(geometry.domain, {1, 1, 1});
  GasRun plain = run_on(alone(), geometry, layout), other = run_on(alone(), geometry, layout);
  plain.start(lively);
  const auto view = plain.state().view(0), image = other.state().view(0);
  for (int axis = 0; axis < 3; ++axis) {
    plain.start(lively);
    const auto mirror = [&](int k, int j, int i) {
      Int3 cell{i, j, k};
      cell[axis] = geometry.domain.hi[axis] - 1 - cell[axis];
      return cell;
    };
    core::for_each_cell(geometry.domain, [&](int k, int j, int i) {
      const Int3 m = mirror(k, j, i);
      for (int c = 0; c < gas_components; ++c)
        image(c, m.z, m.y, m.x) = (c == momentum_x + axis ? -1.0 : 1.0) * view(c, k, j, i);
    });

    for (int step = 0; step < 6; ++step) {
      plain.step(0.01);
      other.step(0.01);
    }

    int different = 0;
    core::for_each_cell(geometry.domain, [&](int k, int j, int i) {
      const Int3 m = mirror(k, j, i);
      for (int c = 0; c < gas_components; ++c)
        different += image(c, m.z, m.y, m.x) != (c == momentum_x + axis ? -1.0 : 1.0) * view(c, k, j, i);
    });
    EXPECT_EQ(different, 0) << axis;
  }
}

TEST(Hydro, KeepsCollidingColdStreamsMirroredToTheBit) {
  constexpr int cells = 32;
  const auto geometry = geometry_of({cells, cells, 1}, {1.0, 1.0, 1.0 / cells});
  for (const char* riemann : {"two-shock", "hllc"})
    for (const int axis : {0, 1}) {
      HydroConfig config;
      config.riemann = riemann;
      GasRun run = run_on(alone(), geometry, mesh::Forest({cells, cells, 1}, 8).layout(1), config);
      // Two discs of gas at Mach 1000 that fall upon each other. Coordinates from the middle are exact.
      run.start([&](double x, double y, double) {
        const double along = (axis == 0 ? x : y) - 0.5, across = (axis == 0 ? y : x) - 0.5;
        const double from_center = std::fabs(along) - 0.16;
        const bool inside = from_center * from_center + across * across < 0.0144;
        const double u = inside ? std::copysign(1.0, -along) : 0.0;
        return Gas{inside ? 1.0 : 1e-3, axis == 0 ? u : 0.0, axis == 0 ? 0.0 : u, 0.0, 6e-7};
      });

      for (int step = 0; step < 25; ++step) run.step(run.largest_step());

      const auto all = owned_cells(run);
      int different = 0;
      const auto at = [&](int c, int j, int i) {
        return all[static_cast<std::size_t>((j * cells + i) * gas_components + c)];
      };
      for (int c = 0; c < gas_components; ++c)
        for (int j = 0; j < cells; ++j)
          for (int i = 0; i < cells; ++i)
            different += at(c, j, i) != (c == momentum_x + axis ? -1.0 : 1.0) *
                                            at(c, axis == 1 ? cells - 1 - j : j, axis == 0 ? cells - 1 - i : i);
      EXPECT_EQ(different, 0) << riemann << ", axis " << axis;
    }
}

TEST(Hydro, SolvesAPlaneProblemAlikeInOneTwoAndThreeDimensions) {
  HydroConfig config;
  config.dual_energy_eta = 0.0;
  const auto wave = [](double x, double, double) {
    return Gas{1.0 + 0.5 * std::sin(2.0 * M_PI * x), 0.3, 0.0, 0.0, 1.0 + 0.4 * std::cos(2.0 * M_PI * x)};
  };
  std::vector<std::vector<double>> rows;
  for (const Int3 cells : {Int3{16, 1, 1}, {16, 6, 1}, {16, 1, 6}, {16, 6, 6}}) {
    const auto geometry = geometry_of(cells, {1.0, 1.0, 1.0});
    GasRun run = run_on(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}), config);
    run.start(wave);
    for (int step = 0; step < 5; ++step) run.step(0.01);
    const auto view = run.state().view(0);
    rows.emplace_back();
    for (int i = 0; i < 16; ++i) rows.back().push_back(view(density, cells.z / 2, cells.y / 2, i));
  }

  // The correction by transverse fluxes that cancel costs round-off.
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(row[i], rows[0][i], 1e-14);
}

TEST(Hydro, CountsTheStepOverTheCellThatIsCrossedFirst) {
  const auto geometry = geometry_of({4, 8, 1}, {1.0, 1.0, 1.0});
  GasRun run = run_on(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}));
  run.start([](double, double, double) { return Gas{1.0, 0.5, -3.0, 100.0, 0.6}; });  // the flat axis does not count

  EXPECT_NEAR(run.largest_step(), 0.5 * 0.125 / (3.0 + 1.0), 1e-15);
}

TEST(Hydro, AllowsAnyStepToARankWithoutCells) {
  const auto geometry = geometry_of({8, 8, 8}, {1.0, 1.0, 1.0});
  const Hydro hydro({}, geometry);
  const mesh::Layout layout(geometry.domain, geometry.periodic, {geometry.domain}, {0});
  mesh::Field<double> nothing(layout, 1, gas_components, hydro_ghost);

  EXPECT_EQ(hydro.largest_step(nothing), std::numeric_limits<double>::infinity());
  EXPECT_EQ(hydro.advance(nothing, 1.0).first_order_cells, 0);
}

TEST(Hydro, SurvivesGasThatTearsApartAndSaysWhatItRepaired) {
  HydroConfig config;
  config.dual_energy_eta = 0.0;
  const auto geometry = geometry_of({8, 8, 8}, {1.0, 1.0, 1.0});
  GasRun run = run_on(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}), config);
  const auto away = [](double x) { return x < 0.5 ? -30.0 : 30.0; };
  run.start([&](double x, double y, double z) { return Gas{1.0, away(x), away(y), away(z), 1e-4}; });

  for (int step = 0; step < 10; ++step) run.step(run.largest_step());

  EXPECT_GT(run.counts.first_order_cells, 0);
  run.for_each([](const Gas& gas, int, int, int) {
    EXPECT_TRUE(gas.rho > 0.0 && gas.p > 0.0 && std::isfinite(gas.u) && std::isfinite(gas.p));
  });
}

TEST(Hydro, KeepsMassWhereItFallsBackToFirstOrder) {
  HydroConfig config;
  config.dual_energy_eta = 0.0;
  const auto geometry = geometry_of({8, 8, 8}, {1.0, 1.0, 1.0});
  GasRun run = run_on(alone(), geometry, mesh::Forest({8, 8, 8}, 4).layout(1), config);
  run.start(cold_and_tangled);
  const double before = run.total(density);

  while (run.counts.first_order_cells == 0 && run.steps < 50) run.step(run.largest_step());

  EXPECT_GT(run.counts.first_order_cells, 0);
  EXPECT_EQ(run.counts.density_floors, 0);
  EXPECT_NEAR(run.total(density), before, 1e-12 * before);
}

TEST(Hydro, StaysFiniteInStreamsOfMachOneHundredFromCellToCell) {
  for (const char* riemann : {"two-shock", "hllc"})
    for (const double eta : {0.0, 1e-3}) {
      HydroConfig config;
      config.riemann = riemann;
      config.dual_energy_eta = eta;
      const auto geometry = geometry_of({16, 16, 16}, {1.0, 1.0, 1.0});
      GasRun run(world(), geometry, mesh::split(geometry.domain, {1, 1, world().size()}), config);
      std::uint64_t cell = 0;
      run.start([&](double x, double y, double z) {
        cell = static_cast<std::uint64_t>(16.0 * x) + 16 * static_cast<std::uint64_t>(16.0 * y) +
               256 * static_cast<std::uint64_t>(16.0 * z);
        const auto noise = [&](std::uint64_t stream) { return core::normal(5, stream, cell); };
        return Gas{std::exp(1.5 * noise(0)), 100.0 * noise(1), 100.0 * noise(2), 100.0 * noise(3), 0.6};
      });
      const double mass = run.total(density);

      for (int step = 0; step < 15; ++step) run.step(run.largest_step());

      run.for_each([](const Gas& gas, int, int, int) {
        EXPECT_TRUE(gas.rho > 0.0 && gas.p > 0.0 && std::isfinite(gas.rho) && std::isfinite(gas.u) &&
                    std::isfinite(gas.p));
      });
      EXPECT_EQ(run.counts.density_floors, 0);
      EXPECT_NEAR(run.total(density), mass, 1e-12 * mass);
    }
}

TEST(Hydro, KeepsTheTotalEnergyOfColdGasWhicheverEnergyItBelieves) {
  const auto geometry = geometry_of({24, 16, 16}, {1.5, 1.0, 1.0});
  GasRun run(world(), geometry, mesh::Forest({24, 16, 16}, 8).layout(world().size()), {});
  run.start([](double x, double y, double z) {
    const double fall = 3.0 * std::sin(2.0 * M_PI * x / 1.5) + (x < 0.75 ? 2.0 : -2.0);
    return Gas{1.0 + 0.5 * std::sin(2.0 * M_PI * y), fall, std::cos(2.0 * M_PI * z), 0.3, 1e-6};
  });
  const double before = run.total(total_energy), heat_before = run.total(internal_energy);

  for (int step = 0; step < 30; ++step) run.step(run.largest_step());

  EXPECT_EQ(run.counts.energy_floors + run.counts.density_floors, 0);
  EXPECT_NEAR(run.total(total_energy), before, 1e-12 * before);
  EXPECT_GT(run.total(internal_energy), 0.01 * before);
  EXPECT_LT(heat_before, 1e-5 * before);
}

TEST(Hydro, CarriesUnresolvedEnergyWithTheGas) {
  const auto geometry = geometry_of({64, 8, 8}, {8.0, 1.0, 1.0});
  GasRun run = run_on(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}), {});
  run.start([](double, double, double) { return Gas{1.0, 10.0, 10.0, 10.0, 1e-6}; });
  const auto view = run.state().view(0);
  const auto unresolved = [&](int i) {
    return view(total_energy, 4, 4, i) - view(internal_energy, 4, 4, i) -
           kinetic_energy(view(density, 4, 4, i), view(momentum_x, 4, 4, i), view(momentum_y, 4, 4, i),
                          view(momentum_z, 4, 4, i));
  };
  // Too little to be believed, a 10,000th of the total energy, between x = 1 and 2.
  core::for_each_cell(geometry.domain, [&](int k, int j, int i) {
    if (i >= 8 && i < 16) view(total_energy, k, j, i) += 1e-4 * 150.0;
  });

  run.run(0.4);

  double sum = 0.0, moment = 0.0;
  for (int i = 0; i < 64; ++i) {
    sum += unresolved(i);
    moment += unresolved(i) * run.center(0, i);
    EXPECT_NEAR(view(internal_energy, 4, 4, i), 1.5e-6, 1e-9);
  }
  EXPECT_NEAR(sum, 8.0 * 1e-4 * 150.0, 1e-9);
  EXPECT_NEAR(moment / sum, 1.5 + 10.0 * 0.4, 1e-4);
}

TEST(Hydro, BooksWhatRepairsAndFloorsAdd) {
  HydroConfig config;
  config.dual_energy_eta = 0.0;
  config.density_floor = 0.3;
  config.internal_energy_floor = 1e-3;
  const auto geometry = geometry_of({8, 8, 8}, {1.0, 1.0, 1.0});
  GasRun run = run_on(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}), config);
  const auto away = [](double x) { return x < 0.5 ? -30.0 : 30.0; };
  run.start([&](double x, double y, double z) { return Gas{1.0, away(x), away(y), away(z), 1e-2}; });
  const double volume = geometry.cell_volume(), mass = volume * run.total(density),
               energy = volume * run.total(total_energy);

  for (int step = 0; step < 5; ++step) run.step(run.largest_step());

  EXPECT_GT(run.counts.density_floors, 0);
  EXPECT_NEAR(volume * run.total(density) - mass, run.counts.floor_mass.value(), 1e-12 * mass);
  EXPECT_NEAR(volume * run.total(total_energy) - energy, run.counts.floor_energy.value(), 1e-12 * energy);
}

TEST(Hydro, KeepsTheInternalEnergyAboveZeroWhereColdGasReplacesHotGas) {
  const auto geometry = geometry_of({16, 16, 16}, {1.0, 1.0, 1.0});
  GasRun run(world(), geometry, mesh::split(geometry.domain, {1, 1, world().size()}), {});
  // Gas a billion times as warm as its surroundings, in pieces of a cell, carried along the diagonal.
  run.start([](double x, double y, double z) {
    const bool is_warm = static_cast<int>(16.0 * (x + y + z)) % 4 == 0;
    return Gas{1.0, 100.0, 100.0, 100.0, is_warm ? 1e-1 : 1e-10};
  });

  for (int step = 0; step < 40; ++step) run.step(run.largest_step());

  run.for_each([](const Gas& gas, int, int, int) { EXPECT_GT(gas.p / std::pow(gas.rho, 5.0 / 3.0), 1e-11); });
  EXPECT_EQ(run.counts.energy_floors, 0);
}

TEST(Hydro, HoldsToTheFloors) {
  HydroConfig config;
  config.internal_energy_floor = 0.5;
  const auto geometry = geometry_of({8, 8, 8}, {1.0, 1.0, 1.0});
  GasRun run = run_on(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}), config);
  run.start([](double, double, double) { return Gas{1.0, 0.0, 0.0, 0.0, 1e-3}; });

  run.step(1e-3);

  EXPECT_EQ(run.counts.energy_floors, 512);
  run.for_each([](const Gas& gas, int, int, int) { EXPECT_NEAR(gas.p, 2.0 / 3.0 * 0.5, 1e-14); });
}

TEST(Kick, ChangesMomentumAndKineticEnergyAndLeavesTheHeat) {
  const auto geometry = geometry_of({5, 4, 3}, {1.0, 1.0, 1.0});
  const mesh::Layout layout = mesh::split(geometry.domain, {1, 1, 1});
  GasRun run = run_on(alone(), geometry, layout);
  run.start(lively);
  mesh::Field<double> acceleration(layout, 0, 3, 1);
  for (int axis = 0; axis < 3; ++axis)
    core::for_each_cell(geometry.domain, [&](int k, int j, int i) {
      acceleration.view(0)(axis, k, j, i) = 0.3 * axis - 0.1 * i + 0.2 * j * k;
    });
  const auto before = owned_cells(run);

  kick(run.state(), acceleration, 0.7);

  const auto u = run.state().view(0);
  core::for_each_cell(geometry.domain, [&](int k, int j, int i) {
    const double* old = &before[static_cast<std::size_t>(linear_index(geometry.domain, {i, j, k}) * gas_components)];
    for (int axis = 0; axis < 3; ++axis)
      EXPECT_NEAR(u(momentum_x + axis, k, j, i),
                  old[momentum_x + axis] + 0.7 * old[density] * (0.3 * axis - 0.1 * i + 0.2 * j * k), 1e-14);
    EXPECT_EQ(u(internal_energy, k, j, i), old[internal_energy]);
    EXPECT_NEAR(u(total_energy, k, j, i),
                old[internal_energy] + kinetic_energy(u(density, k, j, i), u(momentum_x, k, j, i),
                                                      u(momentum_y, k, j, i), u(momentum_z, k, j, i)),
                1e-13);
  });
}

TEST(Kick, ByAPotentialHasTheBitsOfTheAcceleration) {
  const auto geometry = geometry_of({16, 8, 12}, {1.0, 0.7, 1.3});
  const mesh::Layout layout = mesh::Forest(geometry.domain.extent(), 4).layout(1);
  Gravity gravity(alone(), layout, geometry);
  mesh::Field<double> rho(layout, 0), acceleration(layout, 0, 3, 1);
  for (std::size_t n = 0; n < rho.all().size(); ++n) rho.all()[n] = 1.0 + std::sin(static_cast<double>(n * n));
  gravity.solve(rho, acceleration);
  GasRun by_acceleration = run_on(alone(), geometry, layout), by_potential = run_on(alone(), geometry, layout);
  by_acceleration.start(lively);
  by_potential.start(lively);
  const auto before = owned_cells(by_potential);

  FastestWave wave({}, geometry), wave_by_potential({}, geometry);
  kick(by_acceleration.state(), acceleration, 0.7, &wave);
  kick_by_potential(by_potential.state(), gravity.potential(), geometry, 0.7, &wave_by_potential);

  EXPECT_NE(owned_cells(by_potential), before);
  EXPECT_EQ(owned_cells(by_potential), owned_cells(by_acceleration));
  EXPECT_EQ(wave.largest_step(), Hydro({}, geometry).largest_step(by_acceleration.state()));
  EXPECT_EQ(wave_by_potential.largest_step(), wave.largest_step());

  const mesh::Int3 cell = by_potential.state().box(1).lo;
  by_potential.state().view(1)(density, cell.z, cell.y, cell.x) = std::numeric_limits<double>::quiet_NaN();
  kick_by_potential(by_potential.state(), gravity.potential(), geometry, 0.7, &wave_by_potential);
  EXPECT_EQ(wave_by_potential.largest_step(), 0.0);
}

TEST(ExpansionSource, ChangesBothEnergiesByTheSameHeat) {
  const auto geometry = geometry_of({4, 1, 1}, {1.0, 1.0, 1.0});
  GasRun run = run_on(alone(), geometry, mesh::split(geometry.domain, {1, 1, 1}));
  run.start(lively);
  const auto before = owned_cells(run);

  expansion_source(run.state(), 1.25);

  const auto u = run.state().view(0);
  for (int i = 0; i < 4; ++i) {
    const double* old = &before[static_cast<std::size_t>(i * gas_components)];
    EXPECT_DOUBLE_EQ(u(internal_energy, 0, 0, i), 1.25 * old[internal_energy]);
    EXPECT_NEAR(u(total_energy, 0, 0, i) - old[total_energy], 0.25 * old[internal_energy], 1e-14);
  }
}

TEST(Boundary, ContinuesMirrorsOrAsksTheUser) {
  const auto geometry = geometry_of({6, 5, 1}, {1.0, 1.0, 1.0}, {false, false, true});
  const mesh::Layout layout = mesh::split(geometry.domain, {1, 1, 1}, geometry.periodic);
  GasRun run = run_on(alone(), geometry, layout);
  run.start(lively);
  Boundaries boundaries;
  boundaries.side[0] = {BoundaryKind::outflow, BoundaryKind::reflecting};
  boundaries.side[1] = {BoundaryKind::reflecting, BoundaryKind::user};
  boundaries.user = [](Int3 cell, std::array<double, 6>& gas) { gas.fill(100.0 * cell.y + cell.x); };

  fill_boundary(run.state(), geometry, boundaries);

  const auto u = run.state().view(0);
  EXPECT_EQ(u(momentum_x, 0, 2, -3), u(momentum_x, 0, 2, 0));
  EXPECT_EQ(u(momentum_x, 0, 2, 7), -u(momentum_x, 0, 2, 4));
  EXPECT_EQ(u(momentum_y, 0, 2, 7), u(momentum_y, 0, 2, 4));
  EXPECT_EQ(u(density, 0, 2, 9), u(density, 0, 2, 2));
  EXPECT_EQ(u(momentum_y, 0, -1, 3), -u(momentum_y, 0, 0, 3));
  EXPECT_EQ(u(density, 0, -4, -4), u(density, 0, 3, 0));
  EXPECT_EQ(u(total_energy, 0, 6, 8), 608.0);
}

TEST(HydroTable, ReadsEveryOptionAndNamesTheSolversThereAre) {
  const auto node =
      core::parse_toml("gamma = 1.4\nriemann = \"hllc\"\nflattening = \"none\"\ndual_energy_eta = 0.0", "test");

  const HydroConfig config = hydro_table().read(node);

  EXPECT_EQ(config.gamma, 1.4);
  EXPECT_EQ(config.riemann, "hllc");
  EXPECT_EQ(config.flattening, "none");
  EXPECT_EQ(config.cfl, 0.5);
  EXPECT_THROW(hydro_table().read(core::parse_toml("riemann = \"roe\"", "test")), core::Error);
  EXPECT_THROW(Hydro(HydroConfig{.gamma = 1.0}, geometry_of({4, 4, 4}, {1.0, 1.0, 1.0})), core::Error);
}

TEST(HydroAdvance, RefusesFieldsWithTooFewGhostCells) {
  const auto geometry = geometry_of({8, 8, 8}, {1.0, 1.0, 1.0});
  mesh::Field<double> state(mesh::split(geometry.domain, {1, 1, 1}), 0, gas_components, 3);

  EXPECT_THROW(Hydro({}, geometry).advance(state, 0.1), core::Error);
}

}  // namespace
}  // namespace sidestream::test
