#include "sidestream/solvers/cloud_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace sidestream::solvers {
namespace {

const mesh::Box domain = mesh::domain_of({16, 12, 8});
const mesh::Geometry geometry{domain, {8.0, 9.0, 2.0}};
constexpr std::int64_t count = 700;

double position_of(std::int64_t id, std::size_t axis) {
  if (id % 50 == 3) return std::nextafter(geometry.length[axis], 0.0);
  if (id % 7 == 1) return (static_cast<double>(id % 5) + 0.5) * geometry.cell_size(static_cast<int>(axis));
  return geometry.length[axis] * core::uniform(5, axis, static_cast<std::uint64_t>(id));
}

// One of either sign, and one that is many orders larger.
double amount_of(std::int64_t id, int component) {
  const double random = core::uniform(6, static_cast<std::uint64_t>(component), static_cast<std::uint64_t>(id));
  return component == 0 ? random - 0.5 : 1e20 * (random + 1.0);
}

// The particles of all ranks, each where its cell is.
mesh::Particles scattered(const comm::Communicator& comm, const mesh::Layout& layout) {
  mesh::Particles particles;
  for (std::int64_t id = comm.rank(); id < count; id += comm.size()) {
    particles.id.push_back(id);
    for (std::size_t axis = 0; axis < 3; ++axis) particles.position[axis].push_back(position_of(id, axis));
  }
  redistribute::migrate(comm, layout, geometry, particles);
  return particles;
}

mesh::Field<double> sums_on(const comm::Communicator& comm, const mesh::Layout& layout) {
  const mesh::Particles particles = scattered(comm, layout);
  std::vector<std::vector<double>> amounts(2);
  for (int component = 0; component < 2; ++component)
    for (const std::int64_t id : particles.id)
      amounts[static_cast<std::size_t>(component)].push_back(amount_of(id, component));
  const std::vector<std::span<const double>> columns(amounts.begin(), amounts.end());
  return cloud_sums(comm, layout, geometry, particles, columns);
}

// By the overlap of each cloud, a cube of the size of a cell, with each cell around it.
double expected_at(mesh::Int3 cell, int component) {
  double sum = 0.0;
  for (std::int64_t id = 0; id < count; ++id) {
    double weight = 1.0;
    for (int axis = 0; axis < 3; ++axis) {
      const double cells = domain.hi[axis],
                   cloud = position_of(id, static_cast<std::size_t>(axis)) / geometry.cell_size(axis);
      const double apart = std::abs(cloud - cell[axis] - 0.5), around = std::min(apart, cells - apart);
      weight *= std::max(0.0, 1.0 - around);
    }
    sum += weight * amount_of(id, component);
  }
  return sum / geometry.cell_volume();
}

TEST(CloudSums, AreTheOverlapsOfCloudsAndCells) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const mesh::Field<double> sums = sums_on(world, mesh::Forest(domain.hi, 4).layout(world.size()));

  for (int b = 0; b < sums.blocks(); ++b)
    core::for_each_cell(sums.box(b), [&](int k, int j, int i) {
      EXPECT_NEAR(sums.view(b)(0, k, j, i), expected_at({i, j, k}, 0), 1e-11);
      EXPECT_NEAR(sums.view(b)(1, k, j, i), expected_at({i, j, k}, 1), 1e9);
    });
}

TEST(CloudSums, AreTheSameToTheBitOnOneRank) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);

  const mesh::Field<double> sums = sums_on(world, mesh::Forest(domain.hi, 4).layout(world.size()));
  const mesh::Field<double> alone = sums_on(self, mesh::Layout(domain, {true, true, true}, {domain}, {0}));

  for (int b = 0; b < sums.blocks(); ++b)
    core::for_each_cell(sums.box(b), [&](int k, int j, int i) {
      for (int c = 0; c < 2; ++c) EXPECT_EQ(sums.view(b)(c, k, j, i), alone.view(0)(c, k, j, i));
    });
}

TEST(CloudCover, LeavesThoseCellsEmptyThatGetNothing) {
  const comm::Communicator self(MPI_COMM_SELF);
  const mesh::Layout layout(domain, {true, true, true}, {domain}, {0});
  mesh::Particles particles = scattered(self, layout);
  particles.resize(40);  // clouds of eight cells each, of 1536
  std::vector<double> amounts;
  for (const std::int64_t id : particles.id) amounts.push_back(id % 2 == 0 ? 1e-300 : 1.0 + amount_of(id, 0));
  const std::vector<std::span<const double>> columns{amounts};
  const mesh::Field<double> sums = cloud_sums(self, layout, geometry, particles, columns);
  const auto empty = std::ranges::count(sums.all(), 0.0);
  for (double& x : particles.position[0]) x += x < 4.0 ? geometry.length[0] : -geometry.length[0];

  CloudCover cover(geometry, *std::ranges::max_element(amounts), 40);
  EXPECT_EQ(cover.empty_cells(), domain.volume());
  cover.add(particles, amounts);

  EXPECT_GT(empty, domain.volume() - 8 * 40);
  EXPECT_LT(empty, domain.volume() - 40);
  EXPECT_EQ(cover.empty_cells(), empty);
}

TEST(CloudSums, OfNothingAreZero) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const mesh::Layout layout = mesh::Forest(domain.hi, 4).layout(world.size());
  const std::vector<double> none;
  const std::vector<std::span<const double>> columns{none};

  const mesh::Field<double> sums = cloud_sums(world, layout, geometry, mesh::Particles{}, columns);

  for (const double value : sums.all()) EXPECT_EQ(value, 0.0);
}

}  // namespace
}  // namespace sidestream::solvers
