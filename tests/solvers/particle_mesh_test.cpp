#include "sidestream/solvers/particle_mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "sidestream/solvers/momentum.hpp"
#include "solvers/cloud_in_cell.hpp"
#include "support/drift.hpp"

namespace sidestream::solvers {
namespace {

const mesh::Box domain = mesh::domain_of({16, 12, 8});
const mesh::Geometry geometry{domain, {8.0, 9.0, 2.0}};
constexpr std::int64_t count = 700;

enum class Blocks { small, uneven, single };

mesh::Layout layout_for(Blocks blocks, int ranks) {
  if (blocks == Blocks::small) return mesh::Forest(domain.hi, 4).layout(ranks);
  if (blocks == Blocks::uneven) return mesh::split(domain, {ranks, 1, 1});
  return mesh::Layout(domain, {true, true, true}, {domain}, {ranks - 1});
}

mesh::Particles without_particles() {
  mesh::Particles particles;
  particles.mass = 3.5;
  for (const auto& name : momentum_names) particles.attributes.push_back({name, "km/s", {}});
  return particles;
}

void add(mesh::Particles& particles, std::int64_t id, const std::array<double, 3>& position) {
  particles.id.push_back(id);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    particles.position[axis].push_back(position[axis]);
    particles.attributes[axis].values.push_back(0.01 * static_cast<double>(id) - static_cast<double>(axis));
  }
}

// Most anywhere; every seventh on a corner of cells, every seventh in the middle of a cell, some at the very end of the
// domain.
std::array<double, 3> position_of(std::int64_t id) {
  std::array<double, 3> position;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double cell = geometry.cell_size(static_cast<int>(axis)), length = geometry.length[axis];
    const double x = length * core::uniform(5, axis, static_cast<std::uint64_t>(id));
    const double corner = cell * std::floor(x / cell);
    position[axis] = id % 7 == 0 ? corner : id % 7 == 1 ? corner + 0.5 * cell : x;
    if (id % 50 == 3) position[axis] = std::nextafter(length, 0.0);
  }
  return position;
}

mesh::Particles all_particles() {
  mesh::Particles particles = without_particles();
  for (std::int64_t id = 0; id < count; ++id) add(particles, id, position_of(id));
  return particles;
}

// All of them once over the ranks, each on the rank that owns its cell.
mesh::Particles scattered(const comm::Communicator& comm, const mesh::Layout& layout) {
  mesh::Particles particles = without_particles();
  for (std::int64_t id = comm.rank(); id < count; id += comm.size()) add(particles, id, position_of(id));
  redistribute::migrate(comm, layout, geometry, particles);
  return particles;
}

// Any smooth vector field of the global cell.
double acceleration_at(int axis, mesh::Int3 cell) {
  return std::sin(0.7 * cell.x + axis) + std::cos(1.1 * cell.y - 0.3 * axis) * std::sin(0.9 * cell.z);
}

mesh::Field<double> some_acceleration(const comm::Communicator& comm, const mesh::Layout& layout, std::int32_t ghost) {
  mesh::Field<double> field(layout, comm.rank(), 3, ghost);
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b).grown(1), [&](int k, int j, int i) {
      const mesh::Int3 cell{mesh::wrapped(i, domain.hi.x), mesh::wrapped(j, domain.hi.y),
                            mesh::wrapped(k, domain.hi.z)};
      for (int axis = 0; axis < 3; ++axis) view(axis, k, j, i) = acceleration_at(axis, cell);
    });
  }
  return field;
}

class ParticleMeshOn : public testing::TestWithParam<Blocks> {
 protected:
  comm::Communicator comm{MPI_COMM_WORLD};
  mesh::Layout layout = layout_for(GetParam(), comm.size());
  ParticleMesh particle_mesh{comm, layout, geometry, count};
  mesh::Field<double> density{layout, comm.rank()};
};

INSTANTIATE_TEST_SUITE_P(Layouts, ParticleMeshOn, testing::Values(Blocks::small, Blocks::uneven, Blocks::single));

TEST_P(ParticleMeshOn, DepositIsCloudInCell) {
  std::map<std::int64_t, double> expected;
  for (std::int64_t id = 0; id < count; ++id)
    test::for_each_weight(geometry, position_of(id), [&](mesh::Int3 cell, double weight) {
      expected[mesh::linear_index(domain, cell)] += 3.5 * weight / geometry.cell_volume();
    });

  particle_mesh.deposit(scattered(comm, layout), density);

  for (int b = 0; b < density.blocks(); ++b) {
    const auto rho = density.view(b);
    core::for_each_cell(density.box(b), [&](int k, int j, int i) {
      EXPECT_NEAR(rho(k, j, i), expected[mesh::linear_index(domain, {i, j, k})], 1e-10) << i << " " << j << " " << k;
    });
  }
}

TEST_P(ParticleMeshOn, DepositKeepsEveryUnitOfMass) {
  particle_mesh.deposit(scattered(comm, layout), density);

  std::int64_t mass = 0, lowest = 0;
  for (int b = 0; b < density.blocks(); ++b) {
    const auto units = particle_mesh.integer_mass().view(b);
    core::for_each_cell(density.box(b), [&](int k, int j, int i) {
      mass += units(k, j, i);
      lowest = std::min(lowest, units(k, j, i));
    });
  }
  EXPECT_EQ(comm.sum(mass), count * particle_mesh.mass_unit());
  EXPECT_EQ(lowest, 0);
}

TEST_P(ParticleMeshOn, DepositHasTheBitsOfASingleRank) {
  const comm::Communicator self(MPI_COMM_SELF);
  const mesh::Layout whole(domain, {true, true, true}, {domain}, {0});
  ParticleMesh alone(self, whole, geometry, count);
  mesh::Field<double> expected(whole, 0);
  alone.deposit(all_particles(), expected);

  particle_mesh.deposit(scattered(comm, layout), density);

  const auto all = expected.view(0);
  int differing = 0;
  for (int b = 0; b < density.blocks(); ++b) {
    const auto rho = density.view(b);
    core::for_each_cell(density.box(b), [&](int k, int j, int i) { differing += rho(k, j, i) != all(k, j, i); });
  }
  EXPECT_EQ(differing, 0);
}

TEST_P(ParticleMeshOn, OneParticleInEachCellCentreIsExactlyUniform) {
  ParticleMesh full(comm, layout, geometry, domain.volume());
  mesh::Particles particles = without_particles();
  for (const auto index : layout.boxes_of(comm.rank()))
    core::for_each_cell(layout.box(index), [&](int k, int j, int i) {
      add(particles, 0,
          {(i + 0.5) * geometry.cell_size(0), (j + 0.5) * geometry.cell_size(1), (k + 0.5) * geometry.cell_size(2)});
    });

  full.deposit(particles, density);

  for (const double rho : density.all()) EXPECT_NEAR(rho, 3.5 / geometry.cell_volume(), 1e-11);
}

TEST_P(ParticleMeshOn, KickInterpolatesWithTheSameWeights) {
  mesh::Particles particles = scattered(comm, layout);
  const mesh::Particles before = particles;

  const double largest = particle_mesh.kick(some_acceleration(comm, layout, 2), 0.25, particles);

  double expected_largest = 0.0;
  for (std::size_t n = 0; n < particles.size(); ++n)
    for (int axis = 0; axis < 3; ++axis) {
      double pull = 0.0;
      test::for_each_weight(geometry, position_of(particles.id[n]),
                            [&](mesh::Int3 cell, double weight) { pull += weight * acceleration_at(axis, cell); });
      const auto a = static_cast<std::size_t>(axis);
      EXPECT_NEAR(particles.attributes[a].values[n], before.attributes[a].values[n] + 0.25 * pull, 1e-11);
      expected_largest = std::max(expected_largest, std::abs(particles.attributes[a].values[n]));
    }
  EXPECT_EQ(largest, expected_largest);
  EXPECT_EQ(largest_momentum(particles), expected_largest);
}

TEST_P(ParticleMeshOn, SortFollowsTheCellsAndKeepsTheParticles) {
  mesh::Particles particles = scattered(comm, layout);
  std::map<std::int64_t, std::array<double, 2>> before;
  for (std::size_t n = 0; n < particles.size(); ++n)
    before[particles.id[n]] = {particles.position[1][n], particles.attributes[2].values[n]};

  particle_mesh.sort(particles);

  std::int64_t previous = -1;
  for (std::size_t n = 0; n < particles.size(); ++n) {
    const mesh::Int3 cell =
        mesh::cell_of(geometry, {particles.position[0][n], particles.position[1][n], particles.position[2][n]});
    const std::int32_t block = layout.find(cell);
    const std::int64_t place = block * domain.volume() + mesh::linear_index(layout.box(block), cell);
    EXPECT_GE(place, previous);
    previous = place;
    const std::array<double, 2> found{particles.position[1][n], particles.attributes[2].values[n]};
    EXPECT_EQ(before[particles.id[n]], found);
  }
}

TEST_P(ParticleMeshOn, SortChangesNoBits) {
  mesh::Particles particles = scattered(comm, layout);
  particle_mesh.deposit(particles, density);
  mesh::Field<double> sorted_density(layout, comm.rank());

  particle_mesh.sort(particles);
  particle_mesh.deposit(particles, sorted_density);

  EXPECT_TRUE(std::equal(density.all().begin(), density.all().end(), sorted_density.all().begin()));
}

TEST_P(ParticleMeshOn, ParticlesPullEachOtherWithoutMovingTheirCentreOfMass) {
  mesh::Particles particles = scattered(comm, layout);
  for (auto& attribute : particles.attributes) std::fill(attribute.values.begin(), attribute.values.end(), 0.0);
  Gravity gravity(comm, layout, geometry);
  mesh::Field<double> acceleration(layout, comm.rank(), 3, 1);

  particle_mesh.deposit(particles, density);
  gravity.solve(density, acceleration);
  particle_mesh.kick(acceleration, 1.0, particles);

  for (const auto& attribute : particles.attributes) {
    core::ExactSum net, sum_of_moduli;
    for (const double w : attribute.values) {
      net.add(w);
      sum_of_moduli.add(std::abs(w));
    }
    EXPECT_LT(std::abs(comm.sum(net)), 1e-12 * comm.sum(sum_of_moduli)) << attribute.name;
  }
}

TEST_P(ParticleMeshOn, ParticlesOutsideTheDomainAreRefusedByAllRanks) {
  mesh::Particles particles = scattered(comm, layout);
  if (particles.size() > 0) particles.position[1][0] = -0.001;

  EXPECT_THROW(particle_mesh.deposit(particles, density), core::Error);
}

TEST_P(ParticleMeshOn, APotentialPullsWithTheBitsOfItsAcceleration) {
  Gravity gravity(comm, layout, geometry);
  mesh::Field<double> acceleration(layout, comm.rank(), 3, 1);
  mesh::Particles by_acceleration = scattered(comm, layout), by_potential = by_acceleration;
  const mesh::Particles before = by_acceleration;
  particle_mesh.deposit(by_acceleration, density);
  gravity.solve(density, acceleration);

  const double largest = particle_mesh.kick(acceleration, 0.25, by_acceleration);

  EXPECT_EQ(particle_mesh.kick(gravity.potential(), 0.25, by_potential), largest);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(by_potential.attributes[axis].values, by_acceleration.attributes[axis].values);
    EXPECT_TRUE(before.size() == 0 || by_potential.attributes[axis].values != before.attributes[axis].values);
  }
}

TEST_P(ParticleMeshOn, AKickMovesWithTheMomentaAfterIt) {
  mesh::Particles moved = scattered(comm, layout), kicked = moved;
  const auto acceleration = some_acceleration(comm, layout, 2);

  const double largest = particle_mesh.kick(acceleration, 0.25, moved, 0.125);

  EXPECT_EQ(particle_mesh.kick(acceleration, 0.25, kicked), largest);
  const auto before = kicked.position;
  test::drift(0.125, kicked);
  EXPECT_EQ(moved.position, kicked.position);
  EXPECT_TRUE(moved.size() == 0 || moved.position != before);
  for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_EQ(moved.attributes[axis].values, kicked.attributes[axis].values);
}

TEST_P(ParticleMeshOn, ParticlesOfAnotherRankAreRefused) {
  mesh::Particles particles = scattered(comm, layout);
  if (comm.size() == 1 || particles.size() == 0) return;
  mesh::Int3 elsewhere{};
  for (std::int32_t index = 0; index < layout.size(); ++index)
    if (layout.owner(index) != comm.rank()) elsewhere = layout.box(index).lo;
  if (layout.owner(layout.find(elsewhere)) == comm.rank()) return;  // this rank owns everything
  for (int axis = 0; axis < 3; ++axis)
    particles.position[static_cast<std::size_t>(axis)][0] = (elsewhere[axis] + 0.5) * geometry.cell_size(axis);

  EXPECT_THROW(particle_mesh.kick(some_acceleration(comm, layout, 1), 1.0, particles), core::Error);
}

TEST(ParticleMesh, MassUnitLeavesRoomForAllParticlesInOneCell) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const mesh::Layout layout = layout_for(Blocks::small, comm.size());
  for (const std::int64_t total :
       {std::int64_t{1}, std::int64_t{1} << 21, (std::int64_t{1} << 40) - 1, std::int64_t{1} << 50}) {
    const ParticleMesh particle_mesh(comm, layout, geometry, total);

    EXPECT_LE(static_cast<double>(total) * static_cast<double>(particle_mesh.mass_unit()), 0x1p62);
  }
}

// The lightest particles that may be, of any fraction, keep the mass that they are rounded to; lighter ones and such as
// are heavier than the heaviest are refused.
TEST(ParticleMesh, MassFractionsAreKeptOrRefused) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const mesh::Layout layout = layout_for(Blocks::small, comm.size());
  const std::int64_t total = std::int64_t{1} << 30;
  ParticleMesh particle_mesh(comm, layout, geometry, total);
  const auto unit = static_cast<double>(particle_mesh.mass_unit());
  const double least = 4096.0 / unit;
  const auto deposited = [&](double fraction) {
    mesh::Particles particles = without_particles();
    particles.attributes.push_back({mass_fraction_name, "1", {}});
    for (std::int64_t id = 0; id < 20; ++id)
      if (layout.owner(layout.find(cell_of(geometry, position_of(id)))) == comm.rank()) {
        add(particles, id, position_of(id));
        particles.attributes.back().values.push_back(id == 0 ? 1.0 : fraction);
      }
    particle_mesh.deposit_mass(particles);
    std::int64_t mass = 0;
    for (int b = 0; b < particle_mesh.integer_mass().blocks(); ++b)
      core::for_each_cell(particle_mesh.integer_mass().box(b), [&, view = particle_mesh.integer_mass().view(b)](
                                                                   int k, int j, int i) { mass += view(k, j, i); });
    return comm.sum(mass);
  };
  for (const double fraction : {1.0, 0.125, 1.0 / 3.0, least, 1.7 * least})
    EXPECT_EQ(deposited(fraction), static_cast<std::int64_t>(unit + 19.0 * std::rint(unit * fraction))) << fraction;
  for (const double fraction : {0.5 * least, 1e-300, 0.0, -0.125, 1.0 + 1e-9, 1e25, std::nan("")})
    EXPECT_THROW(deposited(fraction), core::Error) << fraction;
}

TEST(ParticleMesh, TheLongestDriftIsAFractionOfACell) {
  EXPECT_DOUBLE_EQ(longest_drift(geometry, 2.0, 0.5), 0.5 * 0.25 / 2.0);
  EXPECT_TRUE(std::isinf(longest_drift(geometry, 0.0, 0.5)));
}

}  // namespace
}  // namespace sidestream::solvers
