#include <gtest/gtest.h>

#include "sidestream/mesh/forest.hpp"
#include "sidestream/solvers/initial_conditions.hpp"
#include "support/cosmologies.hpp"
#include "support/nbody.hpp"

namespace sidestream::solvers {
namespace {

const mesh::Int3 cells{16, 16, 16};
const mesh::Geometry geometry{mesh::domain_of(cells), {20.0, 20.0, 20.0}};

test::NBody started(const comm::Communicator& comm, double a) {
  const mesh::Layout layout = mesh::Forest(cells, 4).layout(comm.size());
  const Background background(test::cosmology_a());
  InitialConditionsConfig config;
  config.particles = {12, 12, 12};
  const InitialConditions start(comm, layout, geometry, background, eisenstein_hu(test::cosmology_a()), config);
  return {comm, layout, geometry, background, start.particles(a, test::cosmology_a().matter_density()), a};
}

TEST(NBody, HasTheBitsOfASingleRankUntilToday) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  test::NBody run = started(world, 0.04), alone = started(self, 0.04);

  run.run_to(1.0, 25);  // to crossed streams, particles that change ranks, and two sorts
  alone.run_to(1.0, 25);

  std::vector<std::size_t> place(alone.particles().size());
  for (std::size_t n = 0; n < place.size(); ++n) place[static_cast<std::size_t>(alone.particles().id[n])] = n;
  int differing = 0;
  for (std::size_t n = 0; n < run.particles().size(); ++n)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t other = place[static_cast<std::size_t>(run.particles().id[n])];
      differing += run.particles().position[axis][n] != alone.particles().position[axis][other];
      differing += run.particles().attributes[axis].values[n] != alone.particles().attributes[axis].values[other];
    }
  EXPECT_EQ(differing, 0);
  EXPECT_EQ(world.sum(static_cast<std::int64_t>(run.particles().size())), 12 * 12 * 12);
}

TEST(NBody, ALatticeAtRestStaysAtRest) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const mesh::Layout layout = mesh::Forest(cells, 4).layout(comm.size());
  const Background background(test::cosmology_a());
  const mesh::Field<double> uniform(layout, comm.rank());
  const InitialConditions start(comm, uniform, geometry, background, "2lpt");
  test::NBody run(comm, layout, geometry, background, start.particles(0.02, 4e10), 0.02);

  run.run_to(1.0, 10);

  for (std::size_t n = 0; n < run.particles().size(); ++n) {
    const auto i = static_cast<double>(run.particles().id[n] % cells.x);
    EXPECT_NEAR(run.particles().position[0][n], (i + 0.5) * geometry.cell_size(0), 1e-12);
  }
}

}  // namespace
}  // namespace sidestream::solvers
