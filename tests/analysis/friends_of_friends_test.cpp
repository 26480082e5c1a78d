// Friends-of-friends groups against all pairs of particles, on any layout, any ranks, in any order.
#include "sidestream/analysis/friends_of_friends.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/particle_sets.hpp"
#include "sidestream/core/error.hpp"
#include "support/world.hpp"

namespace sidestream {
namespace {

using test::clumped;
using test::groups_of_all_pairs;
using test::Points;
using test::Position;
using test::RefinedMesh;
using test::uniform_mesh;
using test::world;

mesh::Particles dealt(const RefinedMesh& mesh, const Points& points, std::uint64_t seed = 0) {
  return test::particles_at(points, test::places_of(mesh, points, world().rank(), seed));
}

// Each id here and its group.
std::map<std::int64_t, std::int64_t> found(const RefinedMesh& mesh, const mesh::Particles& particles,
                                           double linking_length) {
  const auto groups = analysis::friends_of_friends(world(), mesh.levels, mesh.geometry, particles, linking_length);
  std::map<std::int64_t, std::int64_t> by_id;
  for (std::size_t p = 0; p < groups.size(); ++p) by_id[particles.id[p]] = groups[p];
  return by_id;
}

// The particles of all ranks whose groups are not the expected ones, or that are missing.
std::int64_t wrong(const RefinedMesh& mesh, const Points& points, double linking_length,
                   const std::map<std::int64_t, std::int64_t>& expected, std::uint64_t seed = 0) {
  std::int64_t right = 0;
  for (const auto& [id, group] : found(mesh, dealt(mesh, points, seed), linking_length))
    right += expected.at(id) == group ? 1 : 0;
  return static_cast<std::int64_t>(points.ids.size()) - world().sum(right);
}

// The number of groups among the points.
std::size_t groups_in(const RefinedMesh& mesh, const Points& points, double linking_length) {
  std::vector<std::int64_t> names;
  for (const auto& [id, group] : found(mesh, dealt(mesh, points), linking_length))
    if (id == group) names.push_back(id);
  return static_cast<std::size_t>(world().sum(static_cast<std::int64_t>(names.size())));
}

RefinedMesh random_blocks(mesh::Int3 cells, mesh::Periodicity periodic, int boxes, std::uint64_t seed) {
  return uniform_mesh(test::random_layout(cells, periodic, world().size(), boxes, seed));
}

double inside(double x, double length) {
  return mesh::wrapped_coordinate(x, length);
}

double mean_separation(const mesh::Geometry& geometry, int count) {
  return std::cbrt(geometry.volume() / count);
}

TEST(Fof, GroupsAreThoseOfAllPairsOnAnyLayout) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const mesh::Periodicity periodic{seed % 2 == 0, seed % 4 < 2, seed % 3 != 0};
    const RefinedMesh mesh = random_blocks({12, 9, 10}, periodic, 1 + static_cast<int>(seed), seed);
    const int count = 1000;
    const Points points = clumped(mesh.geometry, count, seed);
    for (const double b : {0.2, 0.7}) {
      const double length = b * mean_separation(mesh.geometry, count);

      const auto expected = groups_of_all_pairs(points, mesh.geometry, length);

      EXPECT_EQ(wrong(mesh, points, length, expected, seed), 0) << "seed " << seed << ", b " << b;
    }
  }
}

TEST(Fof, GroupsAreThoseOfAllPairsOnRefinedMeshes) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const mesh::Periodicity periodic{seed % 2 == 0, true, seed % 3 != 0};
    const RefinedMesh mesh = test::random_mesh({12, 8, 8}, 4, 3, periodic, world().size(), seed);
    const int count = seed == 0 ? 3000 : 1000;
    const Points points = clumped(mesh.geometry, count, seed);
    const double length = 0.3 * mean_separation(mesh.geometry, count);

    const auto expected = groups_of_all_pairs(points, mesh.geometry, length);

    EXPECT_EQ(wrong(mesh, points, length, expected, seed), 0) << "seed " << seed;
  }
}

TEST(Fof, AnyLinkingLengthWillDo) {
  const RefinedMesh mesh = random_blocks({6, 10, 4}, {true, false, true}, 9, 3);
  const Points points = clumped(mesh.geometry, 600, 5);
  for (const double length :
       {1e-200, 1e-9, 1e-5, 0.01, 0.1, 0.5, 1.0, 1.9, 2.0, 2.1, 3.0, 3.9, 4.0, 5.0, 6.0, 40.0, 1e200})
    EXPECT_EQ(wrong(mesh, points, length, groups_of_all_pairs(points, mesh.geometry, length)), 0) << length;
}

TEST(Fof, AFlatBoxWillDo) {
  const RefinedMesh mesh = random_blocks({16, 16, 1}, {true, true, true}, 7, 4);
  Points points = clumped(mesh.geometry, 500, 6);
  for (Position& position : points.positions) position[2] = 0.5;
  for (const double length : {0.05, 0.3, 1.2})
    EXPECT_EQ(wrong(mesh, points, length, groups_of_all_pairs(points, mesh.geometry, length)), 0) << length;
}

// Two points so far apart along a direction, of which `share` of the way lies before `corner`.
Points pair_about(const Position& corner, const Position& direction, double distance, double share) {
  const double norm = std::hypot(direction[0], direction[1], direction[2]);
  Points points;
  for (const double end : {-share, 1.0 - share}) {
    Position position{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      position[axis] = inside(corner[axis] + end * distance * direction[axis] / norm, 8.0);
    points.add(position);
  }
  return points;
}

TEST(Fof, PairsAreJoinedWithinTheLinkingLengthAlsoAcrossFacesEdgesAndCorners) {
  const mesh::Layout cubes = mesh::split(mesh::domain_of({8, 8, 8}), {4, 4, 4});
  std::vector<std::int32_t> owners;
  for (std::int32_t box = 0; box < cubes.size(); ++box) owners.push_back((5 * box + box / 4) % world().size());
  const RefinedMesh mesh =
      uniform_mesh({cubes.domain(), cubes.periodic(), {cubes.boxes().begin(), cubes.boxes().end()}, owners});
  const double length = 0.37;
  for (int code = 0; code < 27; ++code) {
    if (code == 13) continue;  // no direction
    const Position direction{double(code % 3 - 1), double(code / 3 % 3 - 1), double(code / 9 - 1)};
    for (const Position& corner : {Position{0, 0, 0}, Position{4, 0, 8}, Position{2, 3, 4}, Position{0.1, 7.9, 4.2}})
      for (const double share : {0.01, 0.5, 0.99}) {
        EXPECT_EQ(groups_in(mesh, pair_about(corner, direction, 0.999 * length, share), length), 1U) << code;
        EXPECT_EQ(groups_in(mesh, pair_about(corner, direction, 1.001 * length, share), length), 2U) << code;
      }
  }
}

TEST(Fof, PairsAreNotJoinedAcrossFacesThatAreNotPeriodic) {
  const RefinedMesh mesh = random_blocks({8, 8, 8}, {false, true, false}, 12, 2);
  Points along_x, along_y;
  along_x.add({0.0, 1.0, 1.0});
  along_x.add({7.9, 1.0, 1.0});
  along_y.add({1.0, 0.0, 1.0});
  along_y.add({1.0, 7.9, 1.0});

  EXPECT_EQ(groups_in(mesh, along_x, 0.2), 2U);
  EXPECT_EQ(groups_in(mesh, along_y, 0.2), 1U);
}

TEST(Fof, AnExactDistanceOfTheLinkingLengthJoins) {
  const RefinedMesh mesh = random_blocks({8, 8, 8}, {true, true, true}, 12, 2);
  Points points;
  points.add({7.75, 2.0, 3.0});
  points.add({0.25, 2.0, 3.0});

  EXPECT_EQ(groups_in(mesh, points, 0.5), 1U);
  EXPECT_EQ(groups_in(mesh, points, std::nextafter(0.5, 0.0)), 2U);
}

TEST(Fof, ALatticeIsOneGroupOrAllSingles) {
  const RefinedMesh mesh = random_blocks({12, 12, 12}, {true, true, true}, 30, 8);
  Points points;
  for (int i = 0; i < 12 * 12 * 12; ++i) points.add({double(i % 12), double(i / 12 % 12), double(i / 144)});

  EXPECT_EQ(groups_in(mesh, points, 1.001), 1U);
  EXPECT_EQ(groups_in(mesh, points, 1.0), 1U);
  EXPECT_EQ(groups_in(mesh, points, 0.999), points.ids.size());
}

TEST(Fof, AChainThatWindsThroughAllBlocksIsOneGroup) {
  const RefinedMesh mesh = random_blocks({16, 4, 4}, {true, true, true}, 60, 9);
  Points points;
  for (int i = 0; i < 3000; ++i) {
    const double turn = 0.01 * i;
    points.add(
        {inside(0.005 * i, 16.0), inside(2.0 + 1.9 * std::sin(turn), 4.0), inside(2.0 + 1.9 * std::cos(turn), 4.0)});
  }
  std::reverse(points.ids.begin(), points.ids.end());

  EXPECT_EQ(wrong(mesh, points, 0.03, groups_of_all_pairs(points, mesh.geometry, 0.03)), 0);
  EXPECT_EQ(groups_in(mesh, points, 0.03), 1U);
}

TEST(Fof, ParticlesOnFacesAndAtEqualPositionsAreJoinedOnce) {
  const RefinedMesh mesh = random_blocks({4, 4, 4}, {true, true, true}, 64, 5);
  Points points;
  for (int copy = 0; copy < 5; ++copy)
    for (int i = 0; i < 64; ++i) points.add({double(i % 4), double(i / 4 % 4), double(i / 16)});

  EXPECT_EQ(groups_in(mesh, points, 0.5), 64U);
  EXPECT_EQ(groups_in(mesh, points, 1e-300), 64U);
  EXPECT_EQ(wrong(mesh, points, 0.5, groups_of_all_pairs(points, mesh.geometry, 0.5)), 0);
}

TEST(Fof, OneRankMayHaveAllParticlesOrNobodyAny) {
  const Points points = clumped(test::unit_cells({8, 8, 8}), 1000, 12);
  const RefinedMesh mesh = uniform_mesh(test::one_box({8, 8, 8}));

  EXPECT_EQ(wrong(mesh, points, 0.2, groups_of_all_pairs(points, mesh.geometry, 0.2)), 0);
  EXPECT_EQ(groups_in(mesh, Points{}, 0.2), 0U);
}

TEST(Fof, AnyRankMayHoldAnyParticleAndItsImages) {
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 2, {true, true, true}, world().size(), 5);
  const Points points = clumped(mesh.geometry, 1000, 21);
  const auto expected = groups_of_all_pairs(points, mesh.geometry, 0.2);
  mesh::Particles particles;
  for (std::size_t p = 0; p < points.ids.size(); ++p) {
    if (static_cast<int>(p % 7) % world().size() != world().rank()) continue;
    particles.id.push_back(points.ids[p]);
    for (std::size_t axis = 0; axis < 3; ++axis)
      particles.position[axis].push_back(points.positions[p][axis] == 0.0 ? 8.0 : points.positions[p][axis]);
  }

  std::int64_t right = 0;
  for (const auto& [id, group] : found(mesh, particles, 0.2)) right += expected.at(id) == group ? 1 : 0;

  EXPECT_EQ(world().sum(right), 1000);
}

// Two clumps, a hair further apart than the linking length: all pairs would take minutes.
TEST(Fof, DenseClumpsAreCheap) {
  const mesh::Layout layout = mesh::split(mesh::domain_of({4, 4, 4}), {1, 1, world().size()}, {true, true, true});
  const RefinedMesh mesh = uniform_mesh(layout);
  constexpr int in_each = 60000;
  Points points;
  for (int i = 0; i < in_each; ++i) {
    const auto draw = static_cast<std::uint64_t>(3 * i);
    const Position offset{0.0, 0.3 * core::uniform(1, 1, draw), 0.3 * core::uniform(1, 1, draw + 1)};
    const double depth = 1e-9 * core::uniform(1, 1, draw + 2);
    points.add({1.0 - depth, 1.0 + offset[1], 1.0 + offset[2]});
    points.add({2.0 + depth, 1.0 + offset[1], 1.0 + offset[2]});
  }

  EXPECT_EQ(groups_in(mesh, points, 0.9999999), 2U);
  EXPECT_EQ(groups_in(mesh, points, 1.0000001), 1U);
}

TEST(Fof, PointsWithoutAMeshGiveTheSameGroups) {
  const mesh::Geometry geometry = test::unit_cells({8, 6, 8}, {true, false, true});
  const Points points = clumped(geometry, 1500, 17);
  std::array<std::vector<double>, 3> x;
  for (const Position& position : points.positions)
    for (std::size_t axis = 0; axis < 3; ++axis) x[axis].push_back(position[axis]);

  const auto groups =
      analysis::friends_of_friends(points.ids, {x[0], x[1], x[2]}, geometry.length, geometry.periodic, 0.15);

  const auto expected = groups_of_all_pairs(points, geometry, 0.15);
  for (std::size_t p = 0; p < groups.size(); ++p) EXPECT_EQ(groups[p], expected.at(points.ids[p]));
}

TEST(Fof, PointsWithoutAMeshAreWrapped) {
  const std::vector<std::int64_t> ids{4, 2, 9};
  const std::vector<double> x{-0.1, 10.05, 5.0}, zero(3, 0.0);

  const auto groups = analysis::friends_of_friends(ids, {x, zero, zero}, {10, 10, 10}, {true, true, true}, 0.2);

  EXPECT_EQ(groups, (std::vector<std::int64_t>{2, 2, 9}));
}

// The message of the core::Error that `work` throws.
template <typename F>
std::string error_of(F work) {
  try {
    work();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "";
}

TEST(Fof, AbsurdLinkingLengthsAreErrors) {
  const RefinedMesh mesh = random_blocks({4, 4, 4}, {true, true, true}, 4, 1);
  const mesh::Particles particles = dealt(mesh, clumped(mesh.geometry, 10, 1));
  for (const double length : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_NE(error_of([&] { found(mesh, particles, length); }).find("linking length is"), std::string::npos) << length;
}

TEST(Fof, ParticlesThatAreNowhereAreErrorsOnAllRanks) {
  const mesh::Layout layout = mesh::split(mesh::domain_of({4, 4, 4}), {1, 1, world().size()}, {true, true, false});
  const RefinedMesh mesh = uniform_mesh(layout);
  const Points points = clumped(mesh.geometry, 100, 1);
  const auto message_with = [&](double z) {
    mesh::Particles particles = dealt(mesh, points);
    if (world().rank() == world().size() - 1) {
      particles.id.push_back(4711);
      particles.position[0].push_back(0.0);
      particles.position[1].push_back(0.0);
      particles.position[2].push_back(z);
    }
    return error_of([&] { found(mesh, particles, 0.2); });
  };

  EXPECT_NE(message_with(std::nan("")).find("particle 4711"), std::string::npos);
  EXPECT_NE(message_with(std::numeric_limits<double>::infinity()).find("particle 4711"), std::string::npos);
  EXPECT_NE(message_with(4.0).find("outside of the domain"), std::string::npos);
  EXPECT_EQ(message_with(3.9), "");
}

TEST(Fof, ParticlesThatNoBlockHoldsAreErrorsOnAllRanks) {
  const mesh::Layout lower(mesh::domain_of({4, 4, 4}), {true, true, true}, {{{0, 0, 0}, {4, 4, 2}}}, {0});
  const mesh::Particles particles =
      dealt(uniform_mesh(test::one_box({4, 4, 4})), clumped(test::unit_cells({4, 4, 4}), 9, 1));

  EXPECT_NE(error_of([&] { found(uniform_mesh(lower), particles, 0.2); }).find("outside of all blocks"),
            std::string::npos);
}

}  // namespace
}  // namespace sidestream
