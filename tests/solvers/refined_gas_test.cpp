#include "sidestream/solvers/refined_gas.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "sidestream/amr/adaptation.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/solvers/boundary.hpp"
#include "support/forests.hpp"
#include "support/world.hpp"

namespace sidestream::solvers {
namespace {

using mesh::Box;
using mesh::Field;
using mesh::Hierarchy;
using mesh::Int3;
using test::alone;
using test::world;

struct Gas {
  double rho, u, v, w, p;
};
using Initial = std::function<Gas(double x, double y, double z)>;

HydroConfig conserving() {
  HydroConfig config;
  config.gamma = 1.4;
  config.dual_energy_eta = 0.0;
  return config;
}

Hierarchy hierarchy_of(const mesh::Forest& forest, int ranks) {
  return {
      forest, {mesh::domain_of(forest.cells()), {1.0, 1.0, 1.0}, forest.periodic()}, ranks, amr::block_costs(forest)};
}

std::vector<Field<double>> state_of(const comm::Communicator& comm, const Hierarchy& hierarchy, double gamma,
                                    const Initial& initial) {
  std::vector<Field<double>> state;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const mesh::Geometry& geometry = hierarchy.geometry(level);
    auto& field = state.emplace_back(hierarchy.layout(level), comm.rank(), gas_components, hydro_ghost);
    for (int b = 0; b < field.blocks(); ++b) {
      const auto u = field.view(b);
      core::for_each_cell(field.box(b), [&](int k, int j, int i) {
        const Gas gas = initial((i + 0.5) * geometry.cell_size(0), (j + 0.5) * geometry.cell_size(1),
                                (k + 0.5) * geometry.cell_size(2));
        u(density, k, j, i) = gas.rho;
        u(momentum_x, k, j, i) = gas.rho * gas.u;
        u(momentum_y, k, j, i) = gas.rho * gas.v;
        u(momentum_z, k, j, i) = gas.rho * gas.w;
        u(internal_energy, k, j, i) = gas.p / (gamma - 1.0);
      });
    }
    set_total_energy(field);
  }
  return state;
}

RefinedGas gas_of(const comm::Communicator& comm, const mesh::Forest& forest, const HydroConfig& config,
                  const Initial& initial, amr::TimeLevels levels = amr::TimeLevels::subcycled) {
  const Hierarchy hierarchy = hierarchy_of(forest, comm.size());
  return {comm, config, hierarchy, state_of(comm, hierarchy, config.gamma, initial), levels};
}

Gas pulse(double x, double y, double z) {
  const double r2 = (x - 0.4) * (x - 0.4) + (y - 0.5) * (y - 0.5) + (z - 0.55) * (z - 0.55);
  const double bump = std::exp(-40.0 * r2);
  return {1.0 + 2.0 * bump, 0.7 + 0.3 * bump, -0.4, 0.2, 1.0 + 5.0 * bump};
}

// Exact sums over leaves of the conserved components, in units of the domain's volume.
std::array<double, 5> totals(const RefinedGas& gas) {
  std::array<core::ExactSum, 5> sums;
  for (int level = 0; level <= gas.finest_level(); ++level) {
    const auto& field = gas.state(level);
    const double volume = 1.0 / static_cast<double>(gas.hierarchy().geometry(level).domain.volume());
    const auto own = gas.hierarchy().layout(level).boxes_of(world().rank());
    for (int b = 0; b < field.blocks(); ++b)
      if (gas.hierarchy().is_leaf(level, own[static_cast<std::size_t>(b)]))
        core::for_each_cell(field.box(b), [&](int k, int j, int i) {
          for (int c = 0; c < 5; ++c) sums[static_cast<std::size_t>(c)].add(volume * field.view(b)(c, k, j, i));
        });
  }
  world().sum(std::span(sums));
  std::array<double, 5> values{};
  for (std::size_t c = 0; c < 5; ++c) values[c] = sums[c].value();
  return values;
}

// Leaf cells of `gas` (on the world) that differ from those of `serial` (on one rank).
std::int64_t cells_that_differ(const RefinedGas& gas, const RefinedGas& serial) {
  std::int64_t count = gas.finest_level() == serial.finest_level() ? 0 : 1;
  for (int level = 0; count == 0 && level <= gas.finest_level(); ++level) {
    const auto own = gas.hierarchy().layout(level).boxes_of(world().rank());
    for (int b = 0; b < gas.state(level).blocks(); ++b) {
      const auto u = gas.state(level).view(b), v = serial.state(level).view(own[static_cast<std::size_t>(b)]);
      core::for_each_cell(gas.state(level).box(b), [&](int k, int j, int i) {
        for (int c = 0; c < gas_components; ++c) count += u(c, k, j, i) != v(c, k, j, i);
      });
    }
  }
  return world().sum(count);
}

class RefinedGasTest : public testing::TestWithParam<amr::TimeLevels> {};

TEST_P(RefinedGasTest, AUniformFlowStaysUniformToTheBitThroughAnyRefinement) {
  for (const double eta : {0.0, 1e-3}) {
    HydroConfig config = conserving();
    config.dual_energy_eta = eta;
    std::mt19937 random(29);
    RefinedGas gas = gas_of(
        world(), mesh::Forest({8, 8, 8}, 4), config,
        [](double, double, double) {
          return Gas{0.3, 0.7, -1.1, 0.37, 0.9};
        },
        GetParam());
    for (int step = 0; step < 6; ++step) {
      gas.move_to(hierarchy_of(test::randomly_adapted(gas.hierarchy().forest(), random, 2), world().size()), 0.0);
      gas.advance_all(0.0, gas.largest_step());
    }
    // Total and internal energy may have settled by a rounding in the first step, everywhere alike.
    std::array<double, gas_components> first{};
    for (int level = gas.finest_level(); level >= 0; --level)
      for (int b = 0; b < gas.state(level).blocks(); ++b) {
        const auto u = std::as_const(gas).state(level).view(b);
        const Int3 lo = gas.state(level).box(b).lo;
        for (int c = 0; c < gas_components; ++c) first[static_cast<std::size_t>(c)] = u(c, lo.z, lo.y, lo.x);
      }
    for (int level = 0; level <= gas.finest_level(); ++level)
      for (int b = 0; b < gas.state(level).blocks(); ++b) {
        const auto u = std::as_const(gas).state(level).view(b);
        core::for_each_cell(gas.state(level).box(b), [&](int k, int j, int i) {
          for (int c = 0; c < gas_components; ++c)
            ASSERT_EQ(u(c, k, j, i), first[static_cast<std::size_t>(c)]) << "component " << c << " level " << level;
        });
      }
    EXPECT_DOUBLE_EQ(first[0], 0.3);
    EXPECT_NEAR(first[internal_energy], 0.9 / 0.4, 1e-14);
  }
}

TEST_P(RefinedGasTest, MassMomentumAndEnergyAreKeptThroughAHundredRegrids) {
  std::mt19937 random(31);
  RefinedGas gas = gas_of(world(), mesh::Forest({16, 16, 8}, 8), conserving(), pulse, GetParam());
  const auto before = totals(gas);
  for (int step = 0; step < 100; ++step) {
    gas.move_to(hierarchy_of(test::randomly_adapted(gas.hierarchy().forest(), random, 1), world().size()), 0.0);
    gas.advance_all(0.0, gas.largest_step());
  }
  const auto after = totals(gas);
  for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(after[c], before[c], 1e-13 * before[total_energy]) << c;
  EXPECT_EQ(world().sum(gas.take_books().energy_floors), 0);
}

TEST_P(RefinedGasTest, ResultsAreTheSameBitsOnAnyNumberOfRanks) {
  const auto run = [&](const comm::Communicator& comm) {
    std::mt19937 random(37);
    RefinedGas gas = gas_of(comm, mesh::Forest({8, 8, 12}, 4), conserving(), pulse, GetParam());
    for (int step = 0; step < 6; ++step) {
      gas.move_to(hierarchy_of(test::randomly_adapted(gas.hierarchy().forest(), random, 2), comm.size()), 0.0);
      gas.advance_all(0.0, gas.largest_step());
    }
    return gas;
  };
  EXPECT_EQ(cells_that_differ(run(world()), run(alone())), 0);
}

// Who has looked at the gas may go on with the ghost cells that were filled for it: the first step of each level, and
// no other, begins with them.
TEST_P(RefinedGasTest, TheGhostCellsOfAllLevelsAreThoseThatTheirFirstStepsBeginWith) {
  const auto run = [&](bool fills_all_first) {
    std::mt19937 random(41);
    RefinedGas gas = gas_of(world(), mesh::Forest({8, 8, 12}, 4), conserving(), pulse, GetParam());
    for (int step = 0; step < 4; ++step) {
      gas.move_to(hierarchy_of(test::randomly_adapted(gas.hierarchy().forest(), random, 2), world().size()), 0.0);
      const double dt = gas.largest_step();
      if (fills_all_first) gas.fill_ghosts_of_all(0.0, hydro_ghost);
      amr::subcycle(
          {.level = gas.base_level()}, gas.finest_level(), GetParam(),
          [&](const amr::LevelStep& part) {
            if (!fills_all_first || part.begin > 0.0) gas.fill_ghosts(part.level, 0.0, part.coarse_weight);
            gas.advance(part.level, (part.end - part.begin) * dt);
          },
          [&](int level) { gas.synchronize(level); });
      gas.average_below_base();
    }
    return gas;
  };
  const RefinedGas gas = run(true), plain = run(false);
  ASSERT_EQ(gas.finest_level(), plain.finest_level());
  for (int level = 0; level <= gas.finest_level(); ++level)
    for (int b = 0; b < gas.state(level).blocks(); ++b) {
      const auto u = gas.state(level).view(b), v = plain.state(level).view(b);
      core::for_each_cell(gas.state(level).box(b), [&](int k, int j, int i) {
        for (int c = 0; c < gas_components; ++c) ASSERT_EQ(u(c, k, j, i), v(c, k, j, i)) << "level " << level;
      });
    }
}

TEST_P(RefinedGasTest, AFullyRefinedDomainIsTheUniformGridOfThatResolutionToTheBit) {
  mesh::Forest fine({16, 16, 8}, 8);
  fine = fine.adapted(test::wishes_for(fine, mesh::Adaptation::refine), 0, 1);
  RefinedGas refined = gas_of(world(), fine, conserving(), pulse, GetParam());
  RefinedGas uniform = gas_of(world(), mesh::Forest({32, 32, 16}, 8), conserving(), pulse);
  for (int step = 0; step < 4; ++step) {
    const double dt = uniform.largest_step();
    refined.advance_all(0.0, dt);
    uniform.advance_all(0.0, dt);
  }
  ASSERT_EQ(refined.state(1).blocks(), uniform.state(0).blocks());
  for (int b = 0; b < uniform.state(0).blocks(); ++b)
    core::for_each_cell(uniform.state(0).box(b), [&](int k, int j, int i) {
      for (int c = 0; c < gas_components; ++c)
        ASSERT_EQ(refined.state(1).view(b)(c, k, j, i), uniform.state(0).view(b)(c, k, j, i));
    });
}

TEST_P(RefinedGasTest, ABlastRefinedInTheMiddleStaysSymmetricToTheBit) {
  mesh::Forest forest({16, 16, 16}, 4, {false, false, false});
  auto wishes = test::wishes_for(forest, mesh::Adaptation::keep);
  for (std::int32_t b = 0; b < forest.size(0); ++b) {
    const Int3 p = forest.key(0, b).position;
    if (std::max({p.x, p.y, p.z}) < 3 && std::min({p.x, p.y, p.z}) > 0)
      wishes[0][static_cast<std::size_t>(b)] = mesh::Adaptation::refine;
  }
  forest = forest.adapted(wishes, 0, 1);
  const auto blast = [](double x, double y, double z) {
    const double r2 = (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5) + (z - 0.5) * (z - 0.5);
    return Gas{1.0, 0.0, 0.0, 0.0, r2 < 0.01 ? 10.0 : 0.1};
  };
  const Hierarchy hierarchy = hierarchy_of(forest, 1);
  RefinedGas gas(
      alone(), conserving(), hierarchy, state_of(alone(), hierarchy, 1.4, blast), GetParam(),
      [](Field<double>& state, const mesh::Geometry& geometry, double) { fill_boundary(state, geometry, {}); });
  for (int step = 0; step < 10; ++step) gas.advance_all(0.0, gas.largest_step());
  for (int level = 0; level < 2; ++level) {
    std::map<std::array<int, 3>, std::array<double, gas_components>> cells;
    const auto& state = gas.state(level);
    for (int b = 0; b < state.blocks(); ++b)
      core::for_each_cell(state.box(b), [&](int k, int j, int i) {
        for (int c = 0; c < gas_components; ++c)
          cells[{i, j, k}][static_cast<std::size_t>(c)] = std::as_const(state).view(b)(c, k, j, i);
      });
    const int last = gas.hierarchy().geometry(level).domain.hi.x - 1;
    for (const auto& [at, u] : cells) {
      const auto& exchanged = cells.at({at[1], at[2], at[0]});
      const auto& mirrored = cells.at({last - at[0], at[1], at[2]});
      ASSERT_EQ(u[density], exchanged[density]);
      ASSERT_EQ(u[total_energy], exchanged[total_energy]);
      ASSERT_EQ(u[momentum_y], exchanged[momentum_x]);
      ASSERT_EQ(u[density], mirrored[density]);
      ASSERT_EQ(u[momentum_x], -mirrored[momentum_x]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, RefinedGasTest, testing::Values(amr::TimeLevels::subcycled, amr::TimeLevels::equal));

}  // namespace
}  // namespace sidestream::solvers
