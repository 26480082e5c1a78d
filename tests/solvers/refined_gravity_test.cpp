#include "sidestream/solvers/refined_gravity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "sidestream/core/random.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "solvers/refined_mesh.hpp"

namespace sidestream::solvers {
namespace {

using mesh::Box;
using mesh::Field;
using mesh::Int3;
using test::cube;
using test::RefinedBox;
using test::RefinedSolution;

RefinedBox two_levels(std::int32_t cells, std::int32_t block = 4) {
  return {.cells = cells, .block = block, .regions = {cube(cells / 4, 3 * cells / 4)}};
}

RefinedBox three_levels(std::int32_t cells, std::int32_t block = 4) {
  return {.cells = cells,
          .block = block,
          .regions = {cube(cells / 4, 3 * cells / 4),
                      {{3 * cells / 4, 3 * cells / 4, 3 * cells / 4}, {5 * cells / 4, 5 * cells / 4, 5 * cells / 4}}}};
}

// The product of a cosine along each axis: its average over a cell, and that of its derivative along x.
struct Wave {
  std::array<double, 3> k{2 * std::numbers::pi, 4 * std::numbers::pi, 2 * std::numbers::pi};

  double k_squared() const { return k[0] * k[0] + k[1] * k[1] + k[2] * k[2]; }
  double average(double cell_size, Int3 cell, bool is_derivative = false) const {
    double product = 1.0;
    for (int axis = 0; axis < 3; ++axis) {
      const double wavenumber = k[static_cast<std::size_t>(axis)];
      const double phase = wavenumber * (cell[axis] + 0.5) * cell_size + 0.3 * axis,
                   half = 0.5 * wavenumber * cell_size;
      product *= std::sin(half) / half;
      product *= is_derivative && axis == 0 ? -wavenumber * std::sin(phase) : std::cos(phase);
    }
    return product;
  }
};

struct Errors {
  double potential = 0.0, force = 0.0;
};

// Largest errors relative to the largest potential and force.
Errors errors_of_wave(const RefinedBox& box) {
  RefinedSolution solution(MPI_COMM_WORLD, box, {.tolerance = 1e-9});
  const Wave wave;
  solution.fill([&](int level, Int3 cell) { return wave.average(box.cell_size(level), cell); });
  const GravitySolve done = solution.solve();
  EXPECT_LE(done.residual, 1e-9);
  EXPECT_LE(done.cycles, 12);

  Errors worst;
  const double k2 = wave.k_squared();
  solution.for_each_leaf_cell([&](int level, int b, int k, int j, int i) {
    const double h = box.cell_size(level);
    const double phi = -wave.average(h, {i, j, k}) / k2, g = wave.average(h, {i, j, k}, true) / k2;
    worst.potential = std::max(worst.potential, k2 * std::abs(solution.phi(level, b, k, j, i) - phi));
    worst.force = std::max(worst.force, k2 / wave.k[0] * std::abs(solution.g(0, level, b, k, j, i) - g));
  });
  return {solution.comm.max(worst.potential), solution.comm.max(worst.force)};
}

TEST(RefinedGravity, ConvergesWithOrderTwoAcrossLevels) {
  const Errors coarse = errors_of_wave(three_levels(16)), fine = errors_of_wave(three_levels(32));

  EXPECT_LT(fine.potential, 0.012);
  EXPECT_LT(fine.force, 0.006);
  EXPECT_GT(std::log2(coarse.potential / fine.potential), 1.8);
  EXPECT_GT(std::log2(coarse.force / fine.force), 1.7);
}

TEST(RefinedGravity, EachCycleLeavesLessThanASixthOfTheResidual) {
  const RefinedBox box = three_levels(32, 8);
  RefinedSolution solution(MPI_COMM_WORLD, box, {.tolerance = 0.0, .most_cycles = 1});
  solution.fill([](int level, Int3 cell) {
    return core::normal(3, static_cast<std::uint64_t>(level),
                        static_cast<std::uint64_t>(linear_index(mesh::domain_of({128, 128, 128}), cell)));
  });

  double last = solution.gravity.solve(solution.density).residual;
  for (int cycle = 0; cycle < 5; ++cycle) {
    const double now = solution.gravity.solve(solution.density).residual;
    EXPECT_LT(now, last / 6.0);
    last = now;
  }
}

TEST(RefinedGravity, AFullyRefinedMeshIsTheUniformGrid) {
  const RefinedBox box{.cells = 8, .block = 4, .regions = {cube(0, 8)}};
  RefinedSolution solution(MPI_COMM_WORLD, box, {.tolerance = 1e-12});
  const auto& layout = solution.hierarchy.layout(1);
  Gravity uniform(solution.comm, layout, solution.hierarchy.geometry(1));
  Field<double> g(layout, solution.comm.rank(), 3, 1);
  solution.fill([](int, Int3 cell) {
    return core::uniform(5, 0, static_cast<std::uint64_t>(linear_index(mesh::domain_of({16, 16, 16}), cell)));
  });

  solution.solve();
  uniform.solve(solution.density[1], g);

  solution.for_each_leaf_cell([&](int level, int b, int k, int j, int i) {
    for (int axis = 0; axis < 3; ++axis)
      ASSERT_NEAR(solution.g(axis, level, b, k, j, i), g.view(b)(axis, k, j, i), 1e-11);
  });
}

TEST(RefinedGravity, AMeshWithoutRefinementTakesNoMoreThanOneTransform) {
  const RefinedBox box{.cells = 8, .block = 4, .regions = {}};
  RefinedSolution solution(MPI_COMM_WORLD, box, {.tolerance = 1e-12});
  solution.fill([](int, Int3 cell) { return 1.0 + cell.x % 3 + 2.0 * (cell.y % 5) + cell.z; });

  EXPECT_EQ(solution.solve().cycles, 1);
}

// What goes through a face of a coarse leaf cell, seen from the coarse side and from the four fine cells.
TEST(RefinedGravity, WhatLeavesOneLevelEntersTheOther) {
  const RefinedBox box = two_levels(16);
  RefinedSolution solution(MPI_COMM_SELF, box);
  solution.fill([](int level, Int3 cell) { return cell.x == (5 << level) && cell.y == (7 << level) ? 1.0 : 0.0; });
  solution.solve();
  const auto phi = [&](int level, int inside, Int3 cell) {
    const auto& field = solution.gravity.potential(level);
    const Box grown = field.box(inside).grown(1);
    const int b = grown.contains(cell) ? inside : solution.hierarchy.layout(level).find(cell);
    return field.view(b)(cell.z, cell.y, cell.x);
  };

  double worst = 0.0, largest = 0.0;
  for (int j = 4; j < 12; ++j)
    for (int k = 4; k < 12; ++k) {
      const int block = solution.hierarchy.layout(0).find({3, j, k});
      const double coarse = (phi(0, block, {4, j, k}) - phi(0, block, {3, j, k})) / box.cell_size(0);
      double fine = 0.0;
      for (const int y : {2 * j, 2 * j + 1})
        for (const int z : {2 * k, 2 * k + 1}) {
          const int inside = solution.hierarchy.layout(1).find({8, y, z});
          fine += 0.25 * (phi(1, inside, {8, y, z}) - phi(1, inside, {7, y, z})) / box.cell_size(1);
        }
      worst = std::max(worst, std::abs(coarse - fine));
      largest = std::max(largest, std::abs(coarse));
    }
  EXPECT_LT(worst, 1e-13 * largest);
}

// The compact sphere rho = (1 - r^2/R^2)^2 in empty space; lap phi = rho.
struct Sphere {
  double radius = 0.2;
  std::array<double, 3> center{0.51, 0.48, 0.505};

  double distance(std::array<double, 3> x) const {
    return std::hypot(x[0] - center[0], x[1] - center[1], x[2] - center[2]);
  }
  double density(std::array<double, 3> x) const {
    const double s = distance(x) / radius;
    return s < 1.0 ? (1.0 - s * s) * (1.0 - s * s) : 0.0;
  }
  double potential(double r) const {
    const double s = std::min(r / radius, 1.0), s2 = s * s, edge = 1.0 / 6.0 - 1.0 / 10.0 + 1.0 / 42.0;
    const double outside = -8.0 / 105.0 * radius * radius / std::max(r / radius, 1.0);
    return outside + radius * radius * (s2 * (1.0 / 6.0 - s2 * (1.0 / 10.0 - s2 / 42.0)) - edge);
  }
  double pull(double r) const {
    const double s = r / radius;
    return radius * (s < 1.0 ? s * (1.0 / 3.0 - s * s * (2.0 / 5.0 - s * s / 7.0)) : 8.0 / 105.0 / (s * s));
  }
};

// Largest errors in units of the potential at the centre and of the strongest pull.
Errors errors_of_sphere(std::int32_t cells, std::int32_t block) {
  RefinedBox box = three_levels(cells, block);
  box.is_periodic = false;
  RefinedSolution solution(MPI_COMM_WORLD, box, {.tolerance = 1e-8});
  const Sphere sphere;
  const auto at = [&](int level, Int3 cell, double x, double y, double z) {
    const double h = box.cell_size(level);
    return std::array{(cell.x + x) * h, (cell.y + y) * h, (cell.z + z) * h};
  };
  const double low = 0.5 - 0.5 / std::sqrt(3.0), high = 1.0 - low;  // Gauss
  solution.fill([&](int level, Int3 cell) {
    double sum = 0.0;
    for (const double x : {low, high})
      for (const double y : {low, high})
        for (const double z : {low, high}) sum += sphere.density(at(level, cell, x, y, z));
    return sum / 8.0;
  });
  EXPECT_LE(solution.solve().residual, 1e-8);

  Errors worst;
  solution.for_each_leaf_cell([&](int level, int b, int k, int j, int i) {
    const auto x = at(level, {i, j, k}, 0.5, 0.5, 0.5);
    const double r = sphere.distance(x);
    worst.potential = std::max(worst.potential, std::abs(solution.phi(level, b, k, j, i) - sphere.potential(r)));
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const double g = -sphere.pull(r) * (x[a] - sphere.center[a]) / r;
      worst.force = std::max(worst.force, std::abs(solution.g(axis, level, b, k, j, i) - g));
    }
  });
  return {solution.comm.max(worst.potential) / -sphere.potential(0.0),
          solution.comm.max(worst.force) / sphere.pull(0.5 * sphere.radius)};
}

TEST(RefinedGravity, ASphereInEmptySpaceHasItsExactPotentialAndForce) {
  const Errors coarse = errors_of_sphere(16, 4), fine = errors_of_sphere(32, 8);

  EXPECT_LT(fine.potential, 1e-3);
  EXPECT_LT(fine.force, 1e-2);
  EXPECT_GT(std::log2(coarse.potential / fine.potential), 1.7);
  EXPECT_GT(std::log2(coarse.force / fine.force), 1.5);
}

TEST(RefinedGravity, AMassInEmptySpacePullsAsOneOverRSquaredFarAway) {
  RefinedBox box = two_levels(16);
  box.is_periodic = false;
  RefinedSolution solution(MPI_COMM_WORLD, box);
  const double h = box.cell_size(1);
  solution.fill([&](int level, Int3 cell) { return level == 1 && cell == Int3{16, 16, 16} ? 1.0 / (h * h * h) : 0.0; });

  solution.solve();

  solution.for_each_leaf_cell([&](int level, int b, int k, int j, int i) {
    if (level != 0) return;
    const double half = 0.5 * box.cell_size(0), at = 16.5 * h;
    const double r = std::hypot((2 * i + 1) * half - at, (2 * j + 1) * half - at, (2 * k + 1) * half - at);
    ASSERT_NEAR(solution.phi(level, b, k, j, i) * -4 * std::numbers::pi * r, 1.0, 0.01);
  });
}

TEST(RefinedGravity, ALevelAloneFindsTheCompositePotentialBetweenItsCoarserLevelsTimes) {
  const RefinedBox box = three_levels(16);
  RefinedSolution solution(MPI_COMM_WORLD, box, {.tolerance = 1e-10});
  const Wave wave;
  const auto fill = [&](double factor) {
    solution.fill([&](int level, Int3 cell) { return factor * wave.average(box.cell_size(level), cell); });
    solution.solve();
  };
  fill(1.0);
  solution.gravity.keep(1);
  fill(3.0);
  const auto finest = [&] {
    std::vector<double> values;
    solution.for_each_leaf_cell([&](int level, int b, int k, int j, int i) {
      if (level == 2) values.push_back(solution.phi(level, b, k, j, i));
    });
    return values;
  };
  const std::vector<double> composite = finest();
  for (double& rho : solution.density[2].all()) rho *= 0.5;  // of the mean of 1 and 3, with weight 1/4

  const GravitySolve done = solution.gravity.solve_level(2, solution.density[2], 0.25);

  EXPECT_LE(done.residual, 1e-10);
  EXPECT_LE(done.cycles, 12);
  const std::vector<double> alone = finest();
  for (std::size_t n = 0; n < alone.size(); ++n) ASSERT_NEAR(alone[n], 0.5 * composite[n], 1e-11);
}

TEST(RefinedGravity, LevelZeroAloneIsTheUniformGrid) {
  const RefinedBox box = two_levels(16);
  RefinedSolution solution(MPI_COMM_WORLD, box);
  Gravity uniform(solution.comm, solution.hierarchy.layout(0), solution.hierarchy.geometry(0));
  solution.fill([](int level, Int3 cell) { return 1.0 + (cell.x >> level) + (cell.y >> level) % 3; });

  solution.gravity.solve_level(0, solution.density[0], 1.0);
  const Field<double>& phi = uniform.solve_potential(solution.density[0]);

  for (int b = 0; b < phi.blocks(); ++b)
    core::for_each_cell(phi.box(b), [&](int k, int j, int i) {
      ASSERT_NEAR(solution.phi(0, b, k, j, i), phi.view(b)(k, j, i), 1e-12);
    });
}

TEST(RefinedGravity, ALevelThatCoversAllOfAPeriodicDomainCanBeSolvedAlone) {
  const RefinedBox box{.cells = 4, .block = 4, .regions = {cube(0, 4)}};
  RefinedSolution solution(MPI_COMM_WORLD, box, {.tolerance = 1e-10});
  solution.fill([](int, Int3 cell) { return 1.0 + cell.x + 2.0 * (cell.y % 3) + (cell.z > 3 ? 1.0 : 0.0); });
  solution.gravity.solve_level(0, solution.density[0], 1.0);
  solution.gravity.keep(0);

  EXPECT_LE(solution.gravity.solve_level(1, solution.density[1], 0.5).residual, 1e-10);
}

TEST(RefinedGravity, AnEvenDensityTakesNoCycle) {
  RefinedSolution solution(MPI_COMM_WORLD, three_levels(16));
  solution.fill([](int level, Int3 cell) { return level == 0 && cell.x % 2 == 0 ? 0.1 : 0.1 + 1e-17; });

  EXPECT_EQ(solution.solve().cycles, 0);
}

TEST(RefinedGravity, ANewMeshStartsFromTheOldPotentials) {
  const RefinedBox box = three_levels(16), other = two_levels(16);
  RefinedSolution solution(MPI_COMM_WORLD, box), next(MPI_COMM_WORLD, other);
  const Wave wave;
  solution.fill([&](int level, Int3 cell) { return wave.average(box.cell_size(level), cell); });
  next.fill([&](int level, Int3 cell) { return wave.average(other.cell_size(level), cell); });
  const int from_nothing = solution.solve().cycles;

  RefinedGravity same(solution.comm, solution.hierarchy, std::move(solution.gravity));
  EXPECT_EQ(same.solve(solution.density).cycles, 0);
  RefinedGravity changed(solution.comm, next.hierarchy, std::move(same));
  const GravitySolve done = changed.solve(next.density);
  EXPECT_LT(done.cycles, from_nothing);
  EXPECT_LE(done.residual, 1e-6);
}

// Number of cells whose potential or acceleration differs from that of the same solve on one rank.
int cells_unlike_one_rank(RefinedSolution& solution, RefinedSolution& alone) {
  int different = 0;
  const auto compare = [&](double a, double b) { different += std::memcmp(&a, &b, sizeof(double)) != 0; };
  for (int level = 0; level <= solution.hierarchy.finest_level(); ++level) {
    const auto own = solution.hierarchy.layout(level).boxes_of(solution.comm.rank());
    for (int b = 0; b < static_cast<int>(own.size()); ++b) {
      const int there = own[static_cast<std::size_t>(b)];  // one rank owns all blocks in their order
      core::for_each_cell(solution.gravity.potential(level).box(b), [&](int k, int j, int i) {
        compare(solution.phi(level, b, k, j, i), alone.phi(level, there, k, j, i));
        for (int axis = 0; axis < 3; ++axis)
          compare(solution.g(axis, level, b, k, j, i), alone.g(axis, level, there, k, j, i));
      });
    }
  }
  return different;
}

TEST(RefinedGravity, BitsAreThoseOfOneRank) {
  for (const bool is_periodic : {true, false}) {
    RefinedBox box = three_levels(16);
    box.is_periodic = is_periodic;
    RefinedSolution solution(MPI_COMM_WORLD, box), alone(MPI_COMM_SELF, box);
    const auto value = [](int level, Int3 cell) {
      return core::uniform(7, static_cast<std::uint64_t>(level),
                           static_cast<std::uint64_t>(linear_index(mesh::domain_of({64, 64, 64}), cell)));
    };
    solution.fill(value);
    alone.fill(value);

    const GravitySolve here = solution.solve(), there = alone.solve();
    EXPECT_EQ(here.cycles, there.cycles);
    EXPECT_EQ(here.residual, there.residual);
    EXPECT_EQ(cells_unlike_one_rank(solution, alone), 0);

    for (RefinedSolution* each : {&solution, &alone}) {
      each->gravity.keep(1);
      for (double& rho : each->density[2].all()) rho *= 1.01;
      each->gravity.solve_level(2, each->density[2], 0.3);
    }
    EXPECT_EQ(cells_unlike_one_rank(solution, alone), 0);
  }
}

TEST(RefinedGravity, RefusesMeshesThatItCannotSolve) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RefinedBox box{.cells = 16, .block = 4, .is_periodic = false, .regions = {cube(0, 8)}};
  EXPECT_THROW(RefinedGravity(comm, box.hierarchy(comm.size())), core::Error);

  const mesh::Periodicity partly{true, true, false};
  const mesh::Geometry geometry{mesh::domain_of({8, 8, 8}), {1.0, 1.0, 1.0}, partly};
  const mesh::Hierarchy tube(mesh::Forest({8, 8, 8}, 4, partly), geometry, comm.size());
  EXPECT_THROW(RefinedGravity(comm, tube), core::Error);
}

}  // namespace
}  // namespace sidestream::solvers
