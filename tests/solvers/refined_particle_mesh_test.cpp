#include "sidestream/solvers/refined_particle_mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/solvers/momentum.hpp"
#include "solvers/cloud_in_cell.hpp"
#include "support/drift.hpp"
#include "support/refined.hpp"

namespace sidestream::solvers {
namespace {

using mesh::Field;
using mesh::Hierarchy;
using mesh::Int3;
using mesh::Particles;

using Position = std::array<double, 3>;

const mesh::Geometry root{mesh::domain_of({16, 16, 16}), {8.0, 9.0, 10.0}};
constexpr std::int64_t count = 3000;

Hierarchy corner(int ranks) {
  return {test::corner_forest(), root, ranks};
}

Particles without_particles() {
  Particles particles;
  particles.mass = 3.5;
  for (const auto& name : momentum_names) particles.attributes.push_back({name, "km/s", {}});
  return particles;
}

// Two thirds around the corner of the domain; every seventh on a corner of finest cells, every seventh in the middle of
// one, some at the very end of the domain.
Position position_of(std::int64_t id) {
  Position position;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double cell = root.cell_size(static_cast<int>(axis)) / 4.0, length = root.length[axis];
    const double u = core::uniform(5, axis, static_cast<std::uint64_t>(id));
    const double x = mesh::wrapped_coordinate(id % 3 == 0 ? length * u : length * 0.35 * (u - 0.5), length);
    const double edge = cell * std::floor(x / cell);
    position[axis] = id % 7 == 0 ? edge : id % 7 == 1 ? edge + 0.5 * cell : x;
    if (id % 50 == 3) position[axis] = std::nextafter(length, 0.0);
  }
  return position;
}

double momentum_of(std::int64_t id, std::size_t axis) {
  return 2.0 * core::uniform(6, axis, static_cast<std::uint64_t>(id)) - 1.0;
}

// All of them once over the ranks, each on the level and rank of its leaf.
std::vector<Particles> scattered(const comm::Communicator& comm, const Hierarchy& hierarchy) {
  std::vector<Particles> levels(static_cast<std::size_t>(hierarchy.finest_level()) + 1, without_particles());
  Particles& all = levels.front();
  for (std::int64_t id = comm.rank(); id < count; id += comm.size()) {
    all.id.push_back(id);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      all.position[axis].push_back(position_of(id)[axis]);
      all.attributes[axis].values.push_back(momentum_of(id, axis));
    }
  }
  redistribute::migrate_levels(comm, hierarchy, levels);
  return levels;
}

// The longest time in which no particle crosses more than `cells` cells of its level.
std::vector<double> times_to_cross(const Hierarchy& hierarchy, double cells) {
  std::vector<double> times;
  for (int level = 0; level <= hierarchy.finest_level(); ++level)
    times.push_back(longest_drift(hierarchy.geometry(level), 1.0, cells));
  return times;
}

// Particles of each level moved by up to `cells` cells of it, kept on their level.
std::vector<Particles> between_steps(const comm::Communicator& comm, const Hierarchy& hierarchy, double cells) {
  auto levels = scattered(comm, hierarchy);
  const auto times = times_to_cross(hierarchy, cells);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const int level = static_cast<int>(l);
    test::drift(times[l], levels[l]);
    redistribute::migrate(comm, hierarchy.layout(level), hierarchy.geometry(level), levels[l]);
  }
  return levels;
}

using CellMass = std::map<std::tuple<int, int, int, int>, double>;  // by level, z, y, x

// Adds mass to a cell and to those of coarser levels that hold it; where finer ones do, to all of their children.
void add_mass(const Hierarchy& hierarchy, int level, Int3 cell, double mass, CellMass& sums) {
  const auto box = hierarchy.layout(level).find(cell);
  if (box < 0) return add_mass(hierarchy, level - 1, {cell.x / 2, cell.y / 2, cell.z / 2}, mass, sums);
  if (!hierarchy.is_leaf(level, box))
    return core::for_each_cell(mesh::Box{{0, 0, 0}, {2, 2, 2}}, [&](int dz, int dy, int dx) {
      add_mass(hierarchy, level + 1, {2 * cell.x + dx, 2 * cell.y + dy, 2 * cell.z + dz}, mass / 8.0, sums);
    });
  for (int l = level, shift = 0; l >= 0; --l, ++shift)
    sums[{l, cell.z >> shift, cell.y >> shift, cell.x >> shift}] += mass;
}

CellMass expected_mass(const comm::Communicator& comm, const Hierarchy& hierarchy,
                       const std::vector<Particles>& levels) {
  std::vector<double> own;  // level and position of all particles
  for (std::size_t l = 0; l < levels.size(); ++l)
    for (std::size_t n = 0; n < levels[l].size(); ++n)
      own.insert(own.end(), {static_cast<double>(l), levels[l].position[0][n], levels[l].position[1][n],
                             levels[l].position[2][n]});
  const auto all = comm.broadcast(comm.gather(std::span<const double>(own)));
  CellMass sums;
  for (std::size_t n = 0; n < all.size(); n += 4) {
    const int level = static_cast<int>(all[n]);
    test::for_each_weight(hierarchy.geometry(level), {all[n + 1], all[n + 2], all[n + 3]},
                          [&](Int3 cell, double weight) { add_mass(hierarchy, level, cell, 3.5 * weight, sums); });
  }
  return sums;
}

double acceleration_at(int axis, Int3 cell) {
  return std::sin(0.7 * cell.x + axis) + std::cos(1.1 * cell.y - 0.3 * axis) * std::sin(0.9 * cell.z);
}

Field<double> some_acceleration(const comm::Communicator& comm, const Hierarchy& hierarchy, int level) {
  Field<double> field(hierarchy.layout(level), comm.rank(), 3, 2);
  const Int3 cells = hierarchy.geometry(level).domain.hi;
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b).grown(2), [&](int k, int j, int i) {
      const Int3 cell{mesh::wrapped(i, cells.x), mesh::wrapped(j, cells.y), mesh::wrapped(k, cells.z)};
      for (int axis = 0; axis < 3; ++axis) view(axis, k, j, i) = acceleration_at(axis, cell);
    });
  }
  return field;
}

class RefinedParticles : public testing::Test {
 protected:
  std::vector<Field<double>> deposited(const std::vector<Particles>& levels, const std::vector<double>& ahead,
                                       int from_level = 0) {
    auto density = fields();
    particle_mesh.deposit(levels, ahead, density, from_level);
    return density;
  }
  std::vector<Field<double>> deposited(const std::vector<Particles>& levels) { return deposited(levels, now); }
  std::vector<Field<double>> fields() const {
    std::vector<Field<double>> all;
    for (int level = 0; level <= hierarchy.finest_level(); ++level)
      all.emplace_back(hierarchy.layout(level), comm.rank());
    return all;
  }

  void expect_mass(const std::vector<Field<double>>& density, CellMass expected) const {
    for (int level = 0; level <= hierarchy.finest_level(); ++level) {
      const Field<double>& field = density[static_cast<std::size_t>(level)];
      const double volume = hierarchy.geometry(level).cell_volume();
      for (int b = 0; b < field.blocks(); ++b)
        core::for_each_cell(field.box(b), [&](int k, int j, int i) {
          EXPECT_NEAR(field.view(b)(k, j, i) * volume, (expected[{level, k, j, i}]), 1e-10)
              << "level " << level << ": " << i << " " << j << " " << k;
        });
    }
  }

  // The integer mass on all leaves, and the least of a cell.
  std::pair<std::int64_t, std::int64_t> mass_of_leaves() const {
    std::int64_t mass = 0, lowest = 0;
    for (int level = 0; level <= hierarchy.finest_level(); ++level) {
      const auto& field = particle_mesh.integer_mass(level);
      const auto own = hierarchy.layout(level).boxes_of(comm.rank());
      for (int b = 0; b < field.blocks(); ++b) {
        if (!hierarchy.is_leaf(level, own[static_cast<std::size_t>(b)])) continue;
        const auto units = field.view(b);
        core::for_each_cell(field.box(b), [&](int k, int j, int i) {
          mass += units(k, j, i);
          lowest = std::min(lowest, units(k, j, i));
        });
      }
    }
    return {comm.sum(mass), lowest};
  }

  comm::Communicator comm{MPI_COMM_WORLD};
  Hierarchy hierarchy = corner(comm.size());
  RefinedParticleMesh particle_mesh{comm, hierarchy, count};
  std::vector<double> now{0.0, 0.0, 0.0};
};

TEST_F(RefinedParticles, AreOnAllLevels) {
  const auto levels = scattered(comm, hierarchy);

  ASSERT_EQ(hierarchy.finest_level(), 2);
  for (const auto& particles : levels) EXPECT_GT(comm.sum(static_cast<std::int64_t>(particles.size())), 50);
}

TEST_F(RefinedParticles, SpreadOverCellsOfTheirLevel) {
  const auto levels = scattered(comm, hierarchy);

  expect_mass(deposited(levels), expected_mass(comm, hierarchy, levels));
}

TEST_F(RefinedParticles, SpreadOverCellsOfTheirLevelBeyondItsEdges) {
  const auto levels = between_steps(comm, hierarchy, 0.99);

  expect_mass(deposited(levels), expected_mass(comm, hierarchy, levels));
}

TEST_F(RefinedParticles, DepositKeepsEveryUnitOfMass) {
  const auto far = times_to_cross(hierarchy, 50.0), far_back = times_to_cross(hierarchy, -50.0);
  for (const auto& levels : {scattered(comm, hierarchy), between_steps(comm, hierarchy, 0.99)})
    for (const auto& ahead : {now, far, far_back}) {
      deposited(levels, ahead);

      const auto [mass, lowest] = mass_of_leaves();
      EXPECT_EQ(mass, count * particle_mesh.mass_unit());
      EXPECT_EQ(lowest, 0);
    }
}

TEST_F(RefinedParticles, SomeCellsOutsideTheirLevelCountAsOneCellOutside) {
  auto levels = between_steps(comm, hierarchy, 3.9);

  deposited(levels);

  EXPECT_EQ(mass_of_leaves().first, count * particle_mesh.mass_unit());
  for (int level = 0; level <= 2; ++level) {
    const double largest = particle_mesh.kick(level, some_acceleration(comm, hierarchy, level), 1.0,
                                              levels[static_cast<std::size_t>(level)]);
    EXPECT_LT(largest, 4.0);
  }
}

TEST_F(RefinedParticles, DepositAheadIsTheDepositOfWhatHasMoved) {
  auto levels = scattered(comm, hierarchy);
  const auto ahead = times_to_cross(hierarchy, 0.4);

  const auto predicted = deposited(levels, ahead);

  for (std::size_t l = 0; l < levels.size(); ++l) test::drift(ahead[l], levels[l]);
  expect_mass(predicted, expected_mass(comm, hierarchy, levels));
}

TEST_F(RefinedParticles, DepositHasTheBitsOfASingleRank) {
  const comm::Communicator self(MPI_COMM_SELF);
  const Hierarchy whole = corner(1);
  RefinedParticleMesh alone(self, whole, count);
  std::vector<Field<double>> expected;
  for (int level = 0; level <= 2; ++level) expected.emplace_back(whole.layout(level), 0);
  for (const double cells : {0.0, 0.7}) {
    const auto ahead = times_to_cross(hierarchy, 0.6);
    alone.deposit(between_steps(self, whole, cells), ahead, expected);

    const auto density = deposited(between_steps(comm, hierarchy, cells), ahead);

    int differing = 0;
    for (int level = 0; level <= 2; ++level) {
      const auto& all = expected[static_cast<std::size_t>(level)];
      const auto& part = density[static_cast<std::size_t>(level)];
      const auto own = part.layout().boxes_of(comm.rank());
      for (int b = 0; b < part.blocks(); ++b)
        core::for_each_cell(part.box(b), [&](int k, int j, int i) {
          differing += part.view(b)(k, j, i) != all.view(own[static_cast<std::size_t>(b)])(k, j, i);
        });
    }
    EXPECT_EQ(differing, 0);
  }
}

TEST_F(RefinedParticles, DepositOfTheFinerLevelsHasTheBitsOfThatOfAll) {
  const auto levels = between_steps(comm, hierarchy, 0.9);
  const auto ahead = times_to_cross(hierarchy, 0.3);
  const auto all = deposited(levels, ahead);
  for (const int from : {1, 2}) {
    const auto some = deposited(levels, ahead, from);

    for (std::size_t l = static_cast<std::size_t>(from); l < all.size(); ++l)
      EXPECT_TRUE(std::equal(all[l].all().begin(), all[l].all().end(), some[l].all().begin())) << "level " << l;
  }
}

TEST_F(RefinedParticles, KickInterpolatesWithTheSameWeights) {
  auto levels = between_steps(comm, hierarchy, 0.99);
  for (int level = 0; level <= 2; ++level) {
    Particles& particles = levels[static_cast<std::size_t>(level)];

    const double largest = particle_mesh.kick(level, some_acceleration(comm, hierarchy, level), 0.25, particles);

    EXPECT_EQ(largest, largest_momentum(particles));
    for (std::size_t n = 0; n < particles.size(); ++n)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        double pull = 0.0;
        test::for_each_weight(
            hierarchy.geometry(level), {particles.position[0][n], particles.position[1][n], particles.position[2][n]},
            [&](Int3 cell, double weight) { pull += weight * acceleration_at(static_cast<int>(axis), cell); });
        EXPECT_NEAR(particles.attributes[axis].values[n], momentum_of(particles.id[n], axis) + 0.25 * pull, 1e-11);
      }
  }
}

// So what pulls a pair of particles on one level is equal and opposite if the force between cells is.
TEST_F(RefinedParticles, FeelOnALevelTheForceOnTheMassTheyLeaveThere) {
  auto levels = between_steps(comm, hierarchy, 0.9);
  for (auto& particles : levels)
    for (auto& attribute : particles.attributes) std::fill(attribute.values.begin(), attribute.values.end(), 0.0);
  for (int level = 0; level <= 2; ++level) {
    auto alone = levels;
    for (int other = 0; other <= 2; ++other)
      if (other != level) alone[static_cast<std::size_t>(other)] = without_particles();
    Particles& particles = alone[static_cast<std::size_t>(level)];
    ParticleMesh one_level(comm, hierarchy.layout(level), hierarchy.geometry(level), count, 1);
    one_level.deposit_mass(particles);

    const auto acceleration = some_acceleration(comm, hierarchy, level);
    particle_mesh.kick(level, acceleration, 1.0, particles);

    double on_cells = 0.0, on_particles = 0.0;
    const auto& mass = one_level.integer_mass();
    for (int b = 0; b < mass.blocks(); ++b)
      core::for_each_cell(mass.box(b).grown(2), [&](int k, int j, int i) {
        const bool is_counted = mass.box(b).contains(Int3{i, j, k}) ||
                                mass.layout().find({mesh::wrapped(i, mass.layout().domain().hi.x),
                                                    mesh::wrapped(j, mass.layout().domain().hi.y),
                                                    mesh::wrapped(k, mass.layout().domain().hi.z)}) < 0;
        if (is_counted)
          on_cells += static_cast<double>(mass.view(b)(k, j, i)) / static_cast<double>(one_level.mass_unit()) *
                      acceleration.view(b)(1, k, j, i);
      });
    for (const double w : particles.attributes[1].values) on_particles += w;
    core::ExactSum difference;
    difference.add(on_cells);
    difference.add(-on_particles);
    EXPECT_NEAR(comm.sum(difference), 0.0, 1e-9);
  }
}

TEST_F(RefinedParticles, SortChangesNoBits) {
  auto levels = between_steps(comm, hierarchy, 0.9);
  const auto before = deposited(levels);

  for (int level = 0; level <= 2; ++level) particle_mesh.sort(level, levels[static_cast<std::size_t>(level)]);

  const auto after = deposited(levels);
  for (std::size_t l = 0; l < before.size(); ++l)
    EXPECT_TRUE(std::equal(before[l].all().begin(), before[l].all().end(), after[l].all().begin()));
}

TEST_F(RefinedParticles, LevelsWithoutParticlesAreServed) {
  std::vector<Particles> levels(3, without_particles());

  for (const auto& density : deposited(levels))
    EXPECT_TRUE(std::all_of(density.all().begin(), density.all().end(), [](double rho) { return rho == 0.0; }));
}

TEST_F(RefinedParticles, FarOutsideTheirLevelAreRefused) {
  auto levels = scattered(comm, hierarchy);
  if (levels[2].size() > 0)
    for (auto& coordinate : levels[2].position) coordinate[0] = 4.9;

  EXPECT_THROW(deposited(levels), core::Error);
}

TEST(RefinedParticleMesh, OfOneLevelIsTheParticleMesh) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const Hierarchy flat(mesh::Forest(root.domain.hi, 4), root, comm.size());
  auto levels = scattered(comm, flat);
  ParticleMesh plain(comm, flat.layout(0), root, count);
  Field<double> expected(flat.layout(0), comm.rank());
  plain.deposit(levels[0], expected);
  RefinedParticleMesh particle_mesh(comm, flat, count);
  std::vector<Field<double>> density;
  density.emplace_back(flat.layout(0), comm.rank());

  particle_mesh.deposit(levels, std::array{0.0}, density);

  EXPECT_EQ(particle_mesh.ghost(), 1);
  EXPECT_TRUE(std::equal(expected.all().begin(), expected.all().end(), density[0].all().begin()));
}

}  // namespace
}  // namespace sidestream::solvers
