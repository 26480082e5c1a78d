#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "redistribute/layouts.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/redistribute/owned_cells.hpp"
#include "support/refined.hpp"

namespace sidestream::redistribute {
namespace {

using mesh::Hierarchy;
using mesh::Particles;
using test::world;

constexpr std::int64_t particles_a_rank = 1000;
const mesh::Geometry root{mesh::domain_of({16, 16, 16}), {3.0, 2.5, 2.2}};

std::array<double, 3> position_of(const Particles& particles, std::size_t p) {
  return {particles.position[0][p], particles.position[1][p], particles.position[2][p]};
}

// Particles over up to one domain beyond each side, all on one level, on whichever rank.
std::vector<Particles> strewn(std::size_t level) {
  std::vector<Particles> levels(3);
  for (auto& particles : levels) particles.attributes = {{"weight", "", {}}};
  Particles& particles = levels[level];
  particles.resize(particles_a_rank);
  for (std::size_t p = 0; p < particles.size(); ++p) {
    const std::int64_t id = world().rank() * particles_a_rank + static_cast<std::int64_t>(p);
    particles.id[p] = id;
    for (std::size_t axis = 0; axis < 3; ++axis)
      particles.position[axis][p] =
          root.length[axis] * (3.0 * core::uniform(7, axis, static_cast<std::uint64_t>(id)) - 1.0);
    particles.attributes[0].values[p] = 0.5 * static_cast<double>(id);
  }
  return levels;
}

// Pushes all particles by up to `cells` cells of their level.
void push(const Hierarchy& hierarchy, std::vector<Particles>& levels, double cells) {
  for (std::size_t l = 0; l < levels.size(); ++l)
    for (std::size_t p = 0; p < levels[l].size(); ++p)
      for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const double u = core::uniform(9, a, static_cast<std::uint64_t>(levels[l].id[p]));
        levels[l].position[a][p] += cells * (2.0 * u - 1.0) * hierarchy.geometry(static_cast<int>(l)).cell_size(axis);
      }
}

int level_of_leaf(const Hierarchy& hierarchy, const std::array<double, 3>& position) {
  for (int level = 0;; ++level) {
    const auto box = hierarchy.layout(level).find(cell_of(hierarchy.geometry(level), position));
    if (hierarchy.is_leaf(level, box)) return level;
  }
}

// Particles that are not on the level of their leaf (or `lowest`) or not on the rank that keeps them.
int misplaced(const Hierarchy& hierarchy, const std::vector<Particles>& levels, int lowest) {
  int wrong = 0;
  for (std::size_t l = static_cast<std::size_t>(lowest); l < levels.size(); ++l)
    for (std::size_t p = 0; p < levels[l].size(); ++p) {
      const auto position = position_of(levels[l], p);
      const auto level = static_cast<int>(l);
      const Home home = home_of(hierarchy.layout(level), cell_of(hierarchy.geometry(level), position));
      wrong += std::max(lowest, level_of_leaf(hierarchy, position)) != level ||
               hierarchy.layout(level).owner(home.box) != world().rank();
    }
  return wrong;
}

void expect_all_particles(const std::vector<Particles>& levels) {
  std::vector<std::int64_t> seen(static_cast<std::size_t>(world().size() * particles_a_rank), 0);
  for (const auto& particles : levels) {
    check(particles);
    for (std::size_t p = 0; p < particles.size(); ++p) {
      ++seen[static_cast<std::size_t>(particles.id[p])];
      EXPECT_EQ(particles.attributes[0].values[p], 0.5 * static_cast<double>(particles.id[p]));
    }
  }
  world().sum(seen);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](auto count) { return count == 1; }));
}

class LevelMigration : public testing::Test {
 protected:
  Hierarchy hierarchy{test::corner_forest(), root, world().size()};
};

TEST_F(LevelMigration, BringsEveryParticleToTheLevelAndOwnerOfItsLeaf) {
  for (const std::size_t start : {0, 1, 2}) {
    auto levels = strewn(start);

    migrate_levels(world(), hierarchy, levels);

    EXPECT_EQ(misplaced(hierarchy, levels, 0), 0);
    expect_all_particles(levels);
  }
}

// The plain twin: looks at each cell around a particle.
int level_with_room(const Hierarchy& hierarchy, const std::array<double, 3>& position, std::int32_t margin) {
  for (int level = hierarchy.finest_level(); level > 0; --level) {
    const mesh::Int3 cell = cell_of(hierarchy.geometry(level), position), cells = hierarchy.geometry(level).domain.hi;
    bool has_all = true;
    core::for_each_cell(mesh::Box{cell, cell + mesh::Int3{1, 1, 1}}.grown(margin), [&](int k, int j, int i) {
      const mesh::Int3 beside{mesh::wrapped(i, cells.x), mesh::wrapped(j, cells.y), mesh::wrapped(k, cells.z)};
      has_all = has_all && hierarchy.layout(level).find(beside) >= 0;
    });
    if (has_all) return level;
  }
  return 0;
}

TEST_F(LevelMigration, BringsEveryParticleToTheFinestLevelWithRoomAroundIt) {
  for (const std::int32_t margin : {1, 3, 4}) {
    auto levels = strewn(1);

    migrate_levels(world(), hierarchy, levels, 0, margin);

    int wrong = 0;
    for (std::size_t l = 0; l < levels.size(); ++l)
      for (std::size_t p = 0; p < levels[l].size(); ++p) {
        const auto position = position_of(levels[l], p);
        const auto level = static_cast<int>(l);
        const auto block = hierarchy.layout(level).find(cell_of(hierarchy.geometry(level), position));
        wrong += level_with_room(hierarchy, position, margin) != level || block < 0 ||
                 hierarchy.layout(level).owner(block) != world().rank();
      }
    EXPECT_EQ(wrong, 0);
    expect_all_particles(levels);
  }
}

TEST_F(LevelMigration, OfParticlesAtHomeChangesNothing) {
  auto levels = strewn(0);
  migrate_levels(world(), hierarchy, levels);
  const auto before = levels;

  migrate_levels(world(), hierarchy, levels);

  for (std::size_t l = 0; l < levels.size(); ++l) EXPECT_EQ(levels[l].position, before[l].position);
}

TEST_F(LevelMigration, WithinALevelKeepsParticlesUpToACellOutsideOfIt) {
  auto levels = strewn(0);
  migrate_levels(world(), hierarchy, levels);
  std::vector<std::int64_t> before, after;
  for (const auto& particles : levels) before.push_back(static_cast<std::int64_t>(particles.size()));
  push(hierarchy, levels, 0.99);

  int outside = 0, elsewhere = 0;
  for (int level = 0; level <= 2; ++level) {
    Particles& particles = levels[static_cast<std::size_t>(level)];
    migrate(world(), hierarchy.layout(level), hierarchy.geometry(level), particles);
    after.push_back(static_cast<std::int64_t>(particles.size()));
    for (std::size_t p = 0; p < particles.size(); ++p) {
      const auto cell = cell_of(hierarchy.geometry(level), position_of(particles, p));
      outside += hierarchy.layout(level).find(cell) < 0;
      elsewhere += hierarchy.layout(level).owner(home_of(hierarchy.layout(level), cell).box) != world().rank();
    }
  }

  world().sum(before);
  world().sum(after);
  EXPECT_EQ(after, before);
  EXPECT_GT(world().sum(std::int64_t{outside}), 10);
  EXPECT_EQ(elsewhere, 0);
  expect_all_particles(levels);
}

TEST_F(LevelMigration, OfFinerLevelsKeepsThemAboveTheLowest) {
  for (const int lowest : {0, 1, 2}) {
    auto levels = strewn(0);
    migrate_levels(world(), hierarchy, levels);
    const auto coarse = levels.front().position;
    push(hierarchy, levels, 0.99);
    if (lowest > 0) levels.front().position = coarse;

    migrate_levels(world(), hierarchy, levels, lowest);

    EXPECT_EQ(misplaced(hierarchy, levels, lowest), 0);
    EXPECT_TRUE(lowest == 0 || levels.front().position == coarse);
    expect_all_particles(levels);
  }
}

TEST_F(LevelMigration, ThrowsOnAllRanksForAParticleFarOutsideTheLowestLevel) {
  auto levels = strewn(0);
  migrate_levels(world(), hierarchy, levels);
  if (levels[2].size() > 0)
    for (auto& coordinate : levels[2].position) coordinate[0] = 1.1;

  EXPECT_THROW(migrate_levels(world(), hierarchy, levels, 2), core::Error);
}

TEST(Home, IsNotFarAway) {
  const mesh::Layout layout(mesh::domain_of({32, 8, 8}), {true, true, true}, {{{4, 4, 4}, {8, 8, 8}}}, {0});

  EXPECT_EQ(home_of(layout, {11, 4, 4}).box, 0);
  EXPECT_EQ(home_of(layout, {12, 4, 4}).box, -1);
}

TEST(Home, IsAcrossAPeriodicBoundaryInTheFrameOfItsBox) {
  const mesh::Layout layout(mesh::domain_of({8, 8, 8}), {true, true, true}, {{{4, 4, 4}, {8, 8, 8}}}, {0});

  const Home home = home_of(layout, {0, 4, 3});

  EXPECT_EQ(home.box, 0);
  EXPECT_EQ(home.cell, (mesh::Int3{8, 4, 3}));
  EXPECT_EQ(home_of(layout, {1, 4, 4}).cell, (mesh::Int3{9, 4, 4}));
}

}  // namespace
}  // namespace sidestream::redistribute
