#include "sidestream/solvers/gravity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::solvers {
namespace {

using mesh::Box;
using mesh::Field;
using mesh::Geometry;
using mesh::Int3;
using mesh::Layout;

const mesh::Periodicity periodic{true, true, true};

Geometry box_of(Int3 cells) {
  return {mesh::domain_of(cells), {14.2, 10.0, 21.5}, periodic};
}

// Blocks of uneven sizes, dealt like cards.
Layout scattered_blocks(Int3 cells, int ranks) {
  const Layout blocks = split(mesh::domain_of(cells), {2, 3, 2});
  std::vector<std::int32_t> rank_of;
  for (int i = 0; i < blocks.size(); ++i) rank_of.push_back(i % ranks);
  return blocks.renumbered(rank_of);
}

template <typename F>
void fill(Field<double>& field, F value) {
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) { view(k, j, i) = value(Int3{i, j, k}); });
  }
}

double noise(Int3 cells, Int3 cell) {
  return core::normal(3, 0, static_cast<std::uint64_t>(linear_index(mesh::domain_of(cells), cell)));
}

// A solver with its fields, on scattered blocks.
struct Solution {
  Geometry geometry;
  Layout blocks;
  Gravity gravity;
  Field<double> density, acceleration;

  Solution(const comm::Communicator& comm, Int3 cells, const std::string& green = "seven-point")
      : geometry(box_of(cells)),
        blocks(scattered_blocks(cells, comm.size())),
        gravity(comm, blocks, geometry, GravityConfig{green}),
        density(blocks, comm.rank()),
        acceleration(blocks, comm.rank(), 3, 1) {}

  template <typename F>
  void solve(F value) {
    fill(density, value);
    gravity.solve(density, acceleration);
  }
  double phi(int b, int k, int j, int i) const { return gravity.potential().view(b)(k, j, i); }
};

struct Wave {
  Geometry geometry;
  Int3 waves;

  double phase(Int3 cell) const {
    double turns = 0.0;
    for (int axis = 0; axis < 3; ++axis) turns += 1.0 * waves[axis] * cell[axis] / geometry.domain.hi[axis];
    return 2 * std::numbers::pi * turns + 0.3;
  }
  double k(int axis) const {
    return 2 * std::numbers::pi * waves[axis] / geometry.length[static_cast<std::size_t>(axis)];
  }
  double k_discrete(int axis) const {
    const double dx = geometry.cell_size(axis);
    return 2 / dx * std::sin(k(axis) * dx / 2);
  }
};

// The largest difference of potential and acceleration (relative to their amplitudes) from those of a density
// cos(phase).
double error_of_plane_wave(const comm::Communicator& comm, Int3 cells, Int3 waves, const std::string& green) {
  Solution solution(comm, cells, green);
  const Wave wave{solution.geometry, waves};
  double k2 = 0.0;
  for (int axis = 0; axis < 3; ++axis) k2 += std::pow(green == "spectral" ? wave.k(axis) : wave.k_discrete(axis), 2);

  solution.solve([&](Int3 cell) { return 5.0 + std::cos(wave.phase(cell)); });

  double worst = 0.0;
  for (int b = 0; b < solution.density.blocks(); ++b)
    core::for_each_cell(
        solution.blocks.box(solution.blocks.boxes_of(comm.rank())[static_cast<std::size_t>(b)]).grown(1),
        [&](int k, int j, int i) {
          const double phase = wave.phase({i, j, k});
          worst = std::max(worst, std::abs(k2 * solution.phi(b, k, j, i) + std::cos(phase)));
          for (int axis = 0; axis < 3; ++axis) {
            const double dx = solution.geometry.cell_size(axis);
            const double expected = -std::sin(phase) * std::sin(wave.k(axis) * dx) / dx / k2;
            const double actual = solution.acceleration.view(b)(axis, k, j, i);
            worst = std::max(worst, std::abs(actual - expected) * std::sqrt(k2));
          }
        });
  return worst;
}

constexpr double plane_wave_tolerance = 1e-12;

TEST(Gravity, PlaneWavesHaveTheExactDiscreteSolution) {
  const comm::Communicator comm(MPI_COMM_WORLD);

  for (const Int3 waves : {Int3{1, 0, 0}, {0, 2, 0}, {0, 0, -3}, {3, -1, 2}, {5, 4, 6}})
    EXPECT_LT(error_of_plane_wave(comm, {16, 12, 20}, waves, "seven-point"), plane_wave_tolerance);
}

TEST(Gravity, PlaneWavesHaveTheExactSpectralSolution) {
  const comm::Communicator comm(MPI_COMM_WORLD);

  for (const Int3 waves : {Int3{1, 0, 0}, {3, -1, 2}})
    EXPECT_LT(error_of_plane_wave(comm, {15, 12, 20}, waves, "spectral"), plane_wave_tolerance);
}

TEST(Gravity, SevenPointLaplacianOfThePotentialIsTheDensityLessItsMean) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const Int3 cells : {Int3{16, 16, 16}, {15, 9, 14}}) {
    Solution solution(comm, cells);
    solution.solve([&](Int3 cell) { return 3.0 + noise(cells, cell); });
    core::ExactSum sum;
    sum.add(solution.density.all());
    const double mean = comm.sum(sum) / static_cast<double>(cells.product());

    double worst = 0.0;
    for (int b = 0; b < solution.density.blocks(); ++b)
      core::for_each_cell(solution.density.box(b), [&](int k, int j, int i) {
        const auto second = [&](int axis, double below, double above) {
          const double dx = solution.geometry.cell_size(axis);
          return (below - 2 * solution.phi(b, k, j, i) + above) / (dx * dx);
        };
        const double laplacian = second(0, solution.phi(b, k, j, i - 1), solution.phi(b, k, j, i + 1)) +
                                 second(1, solution.phi(b, k, j - 1, i), solution.phi(b, k, j + 1, i)) +
                                 second(2, solution.phi(b, k - 1, j, i), solution.phi(b, k + 1, j, i));
        worst = std::max(worst, std::abs(laplacian - (solution.density.view(b)(k, j, i) - mean)));
      });
    EXPECT_LT(worst, 1e-11);
  }
}

TEST(Gravity, GasFeelsNoNetForce) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const Int3 cells{16, 12, 10};
  for (const char* green : {"seven-point", "spectral"}) {
    Solution solution(comm, cells, green);

    solution.solve([&](Int3 cell) { return std::exp(noise(cells, cell)); });

    std::array<core::ExactSum, 3> force, size;
    for (int b = 0; b < solution.density.blocks(); ++b)
      core::for_each_cell(solution.density.box(b), [&](int k, int j, int i) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double f =
              solution.density.view(b)(k, j, i) * solution.acceleration.view(b)(static_cast<int>(axis), k, j, i);
          force[axis].add(f);
          size[axis].add(std::abs(f));
        }
      });
    for (std::size_t axis = 0; axis < 3; ++axis)
      EXPECT_LT(std::abs(comm.sum(force[axis])), 1e-14 * comm.sum(size[axis]));
  }
}

// Cloud-in-cell: calls f(cell, weight) for the eight cells that share a particle at `x` (in cells).
template <typename F>
void for_each_share(const std::array<double, 3>& x, F f) {
  std::array<int, 3> low;
  std::array<double, 3> part;
  for (std::size_t d = 0; d < 3; ++d) {
    low[d] = static_cast<int>(std::floor(x[d] - 0.5));
    part[d] = x[d] - 0.5 - low[d];
  }
  for (int n = 0; n < 8; ++n) {
    const Int3 corner{n & 1, n >> 1 & 1, n >> 2};
    double weight = 1.0;
    for (int d = 0; d < 3; ++d)
      weight *= corner[d] ? part[static_cast<std::size_t>(d)] : 1 - part[static_cast<std::size_t>(d)];
    f(Int3{low[0], low[1], low[2]} + corner, weight);
  }
}

TEST(Gravity, ParticlesFeelNoNetForceWhenGatheredWithTheWeightsOfTheDeposit) {
  const comm::Communicator self(MPI_COMM_SELF);
  const int n = 8;
  Solution solution(self, {n, n, n});
  std::vector<std::array<double, 3>> particles(40);
  for (std::size_t p = 0; p < particles.size(); ++p)
    for (std::size_t d = 0; d < 3; ++d) particles[p][d] = n * core::uniform(5, d, p);
  std::vector<double> mass(static_cast<std::size_t>(n * n * n));
  const auto at = [&](Int3 c) {
    return static_cast<std::size_t>((mesh::wrapped(c.z, n) * n + mesh::wrapped(c.y, n)) * n + mesh::wrapped(c.x, n));
  };
  for (const auto& x : particles) for_each_share(x, [&](Int3 cell, double weight) { mass[at(cell)] += weight; });

  solution.solve([&](Int3 cell) { return mass[at(cell)]; });

  std::vector<std::array<double, 3>> g(mass.size());
  for (int b = 0; b < solution.density.blocks(); ++b)
    core::for_each_cell(solution.density.box(b), [&](int k, int j, int i) {
      for (int d = 0; d < 3; ++d)
        g[at({i, j, k})][static_cast<std::size_t>(d)] = solution.acceleration.view(b)(d, k, j, i);
    });
  for (std::size_t d = 0; d < 3; ++d) {
    double net = 0.0, size = 0.0;
    for (const auto& x : particles) {
      double force = 0.0;
      for_each_share(x, [&](Int3 cell, double weight) { force += weight * g[at(cell)][d]; });
      net += force;
      size += std::abs(force);
    }
    EXPECT_LT(std::abs(net), 1e-13 * size);
  }
}

TEST(Gravity, UniformDensityFeelsNothing) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  Solution solution(comm, {16, 16, 8});

  solution.solve([](Int3) { return 0.1; });

  for (const double g : solution.acceleration.all()) ASSERT_LT(std::abs(g), 1e-15);
}

TEST(Gravity, BitsAreThoseOfOneRankWithOneBlock) {
  const comm::Communicator comm(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const Int3 cells{16, 10, 9};
  Solution solution(comm, cells);
  const Layout one = split(mesh::domain_of(cells), {1, 1, 1});
  Gravity serial(self, one, box_of(cells));
  Field<double> serial_density(one, 0), serial_acceleration(one, 0, 3, 1);
  fill(serial_density, [&](Int3 cell) { return noise(cells, cell); });

  solution.solve([&](Int3 cell) { return noise(cells, cell); });
  serial.solve(serial_density, serial_acceleration);

  int different = 0;
  const auto compare = [&](double a, double b) { different += std::memcmp(&a, &b, sizeof(double)) != 0; };
  for (int b = 0; b < solution.density.blocks(); ++b)
    core::for_each_cell(solution.density.box(b).grown(1), [&](int k, int j, int i) {
      const Int3 at{mesh::wrapped(i, cells.x), mesh::wrapped(j, cells.y), mesh::wrapped(k, cells.z)};
      compare(solution.phi(b, k, j, i), serial.potential().view(0)(at.z, at.y, at.x));
      for (int d = 0; d < 3; ++d)
        compare(solution.acceleration.view(b)(d, k, j, i), serial_acceleration.view(0)(d, at.z, at.y, at.x));
    });
  EXPECT_EQ(different, 0);
}

TEST(Gravity, RefusesBoxesThatAreNotPeriodic) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  Geometry geometry = box_of({8, 8, 8});
  geometry.periodic = {true, false, true};

  EXPECT_THROW(Gravity(comm, scattered_blocks({8, 8, 8}, comm.size()), geometry), core::Error);
}

TEST(Gravity, RefusesAnUnknownGreensFunction) {
  EXPECT_THROW(gravity_table().read(core::parse_toml("green = \"five-point\"", "run.toml")), core::Error);
}

}  // namespace
}  // namespace sidestream::solvers
