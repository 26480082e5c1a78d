#include "sidestream/redistribute/migration.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "redistribute/layouts.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/redistribute/owned_cells.hpp"
#include "support/delayed_messages.hpp"

namespace sidestream::redistribute {
namespace {

using mesh::Geometry;
using mesh::Layout;
using mesh::Particles;
using test::all_ranks;
using test::random_layout;
using test::world;

constexpr std::int64_t particles_a_rank = 1000;

double attribute_of(std::int64_t id) {
  return 0.5 * static_cast<double>(id) + 0.25;
}

// Particles strewn over up to one domain beyond each side, on whichever rank.
Particles strewn(const Geometry& geometry, double overshoot = 1.0) {
  Particles particles;
  particles.attributes = {{"velocity_x", "km/s", {}}, {"weight", "", {}}};
  particles.resize(particles_a_rank);
  for (std::size_t p = 0; p < particles.size(); ++p) {
    const std::int64_t id = world().rank() * particles_a_rank + static_cast<std::int64_t>(p);
    particles.id[p] = id;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double u = core::uniform(7, axis, static_cast<std::uint64_t>(id));
      particles.position[axis][p] = geometry.length[axis] * ((1 + 2 * overshoot) * u - overshoot);
    }
    particles.attributes[0].values[p] = attribute_of(id);
    particles.attributes[1].values[p] = -attribute_of(id);
  }
  return particles;
}

int particles_away_from_their_owner(const Layout& layout, const Geometry& geometry, const Particles& particles) {
  int wrong = 0;
  for (std::size_t p = 0; p < particles.size(); ++p) {
    bool is_inside = true;
    for (std::size_t axis = 0; axis < 3; ++axis)
      is_inside = is_inside && particles.position[axis][p] >= 0 && particles.position[axis][p] < geometry.length[axis];
    const auto box = layout.find(
        cell_of(geometry, std::array{particles.position[0][p], particles.position[1][p], particles.position[2][p]}));
    wrong += !is_inside || box < 0 || layout.owner(box) != world().rank();
  }
  return wrong;
}

// Each id once in the world, each with its attributes.
void expect_all_particles(const Particles& particles) {
  check(particles);
  std::vector<std::int64_t> seen(static_cast<std::size_t>(world().size() * particles_a_rank), 0);
  for (std::size_t p = 0; p < particles.size(); ++p) {
    ++seen[static_cast<std::size_t>(particles.id[p])];
    EXPECT_EQ(particles.attributes[0].values[p], attribute_of(particles.id[p]));
    EXPECT_EQ(particles.attributes[1].values[p], -attribute_of(particles.id[p]));
  }
  world().sum(seen);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](auto count) { return count == 1; }));
}

TEST(Migration, BringsEveryParticleToTheOwnerOfItsCell) {
  const Geometry geometry{mesh::domain_of({12, 10, 8}), {3.0, 2.5, 2.2}};
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const auto layout = random_layout(geometry.domain, 30, all_ranks(), seed);
    auto particles = strewn(geometry);

    migrate(world(), layout, geometry, particles);

    EXPECT_EQ(particles_away_from_their_owner(layout, geometry, particles), 0);
    expect_all_particles(particles);
  }
}

TEST(Migration, KeepsTheOrderOfParticlesInWhateverOrderMessagesCome) {
  const Geometry geometry{mesh::domain_of({12, 10, 8}), {3.0, 2.5, 2.2}};
  const auto layout = random_layout(geometry.domain, 30, all_ranks(), 3);
  Particles expected = strewn(geometry);
  migrate(world(), layout, geometry, expected);

  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const sidestream::test::DelayedMessages delayed(seed);
    Particles particles = strewn(geometry);
    migrate(world(), layout, geometry, particles);

    EXPECT_EQ(particles.id, expected.id);
    EXPECT_EQ(particles.position, expected.position);
  }
}

TEST(Migration, ServesRanksThatOwnNothing) {
  const Geometry geometry{mesh::domain_of({8, 8, 8}), {1.0, 1.0, 1.0}};
  const auto layout = test::owned_by(split(geometry.domain, {2, 2, 2}), [](auto) { return world().size() - 1; });
  auto particles = strewn(geometry);

  migrate(world(), layout, geometry, particles);

  const auto count = static_cast<std::int64_t>(particles.size());
  EXPECT_EQ(count, world().rank() == world().size() - 1 ? world().size() * particles_a_rank : 0);
  expect_all_particles(particles);
}

TEST(Migration, OfParticlesAtHomeChangesNothing) {
  const Geometry geometry{mesh::domain_of({16, 16, 16}), {1.0, 1.0, 1.0}};
  const auto layout = test::dealt(split(geometry.domain, {4, 4, 4}));
  auto particles = strewn(geometry);
  migrate(world(), layout, geometry, particles);
  const auto before = particles.position;

  migrate(world(), layout, geometry, particles);

  EXPECT_EQ(particles.position, before);
}

TEST(Migration, WrapsTheUpperSideOntoTheLower) {
  const double length = 0.7;
  const Geometry geometry{mesh::domain_of({6, 6, 6}), {length, length, length}};
  const auto layout = split(geometry.domain, {world().size(), 1, 1});
  Particles particles;
  if (world().rank() == 0) {
    particles.id = {0, 1, 2, 3, 4};
    const double below = std::nextafter(length, 0.0);
    particles.position[0] = {length, 2 * length, -1e-300, below, -length};
    particles.position[1] = particles.position[2] = {0.1, 0.1, 0.1, 0.1, 0.1};
  }

  migrate(world(), layout, geometry, particles);

  EXPECT_EQ(particles_away_from_their_owner(layout, geometry, particles), 0);
  for (std::size_t p = 0; p < particles.size(); ++p) {
    const double expected = particles.id[p] == 3 ? std::nextafter(length, 0.0) : 0.0;
    EXPECT_EQ(particles.position[0][p], expected) << "particle " << particles.id[p];
  }
  EXPECT_EQ(world().sum(static_cast<std::int64_t>(particles.size())), 5);
}

TEST(Migration, ThrowsOnAllRanksForAPositionThatIsNotFinite) {
  const Geometry geometry{mesh::domain_of({8, 8, 8}), {1.0, 1.0, 1.0}};
  const auto layout = split(geometry.domain, {1, 1, world().size()});
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto particles = strewn(geometry);
    if (world().rank() == world().size() - 1) particles.position[1][17] = bad;

    EXPECT_THROW(migrate(world(), layout, geometry, particles), core::Error);
  }
}

TEST(Migration, ThrowsOnAllRanksForAParticleBeyondAWall) {
  const Geometry geometry{mesh::domain_of({8, 8, 8}), {1.0, 1.0, 1.0}, {true, false, true}};
  const auto layout = split(geometry.domain, {1, 1, world().size()}, geometry.periodic);
  auto particles = strewn(geometry, 0.0);
  if (world().rank() == 0) particles.position[1][3] = 1.0;

  EXPECT_THROW(migrate(world(), layout, geometry, particles), core::Error);
}

TEST(Migration, ThrowsForAParticleFarFromAllCellsThatSomebodyOwns) {
  const Geometry geometry{mesh::domain_of({32, 32, 32}), {1.0, 1.0, 1.0}};
  const Layout lower(geometry.domain, {true, true, true}, {{{0, 0, 0}, {32, 32, 16}}}, {0});
  auto particles = strewn(geometry);

  EXPECT_THROW(migrate(world(), lower, geometry, particles), core::Error);
}

TEST(OwnedCells, AgreeWithTheLayout) {
  const auto ranks = std::vector<std::int32_t>{0, 1, 2};
  for (const int cuts : {0, 3, 40, 400}) {
    const auto layout = random_layout(mesh::domain_of({40, 30, 20}), cuts, ranks, 3, {true, true, true}, 0.8);
    for (const int rank : {0, 1, 2, 3}) {
      const OwnedCells own(layout, rank);

      int wrong = 0;
      core::for_each_cell(layout.domain().grown(1), [&](int k, int j, int i) {
        const auto box = layout.find({i, j, k});
        wrong += own.contains({i, j, k}) != (box >= 0 && layout.owner(box) == rank);
      });

      EXPECT_EQ(wrong, 0) << cuts << " cuts, rank " << rank;
    }
  }
}

TEST(OwnedCells, TakeNoTableOfAVastDomainOrWhereThereIsNoBox) {
  constexpr std::int32_t side = 1 << 29;
  const Layout layout({{0, 0, 0}, {side, side, 1}}, {}, {{{side - 8, 0, 0}, {side, 8, 1}}}, {1});

  const OwnedCells own(layout, 1), none(layout, 0);

  EXPECT_EQ(own.block_of({side - 1, 7, 0}), 0);
  EXPECT_EQ(own.block_of({side - 9, 7, 0}), -1);
  EXPECT_EQ(none.block_of({side - 1, 7, 0}), -1);
}

TEST(CellOf, PutsEveryCoordinateOfTheDomainIntoTheDomain) {
  for (const std::int32_t cells : {1, 3, 7, 49, 64, 1000})
    for (const double length : {0.1, 1.0, 14.2, 3.3e-7, 7e11}) {
      const Geometry geometry{mesh::domain_of({cells, 1, 1}), {length, 1.0, 1.0}};

      EXPECT_EQ(cell_of(geometry, 0, 0.0), 0);
      EXPECT_EQ(cell_of(geometry, 0, std::nextafter(length, 0.0)), cells - 1);
      EXPECT_EQ(cell_of(geometry, 0, -1e-6 * length), -1);
    }
}

}  // namespace
}  // namespace sidestream::redistribute
