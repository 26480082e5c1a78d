// Which ranks are near a point, against the distance to every box.
#include "analysis/friends_of_friends/ranks_near_points.hpp"

#include <gtest/gtest.h>

#include <set>

#include "analysis/particle_sets.hpp"

namespace sidestream {
namespace {

using test::Position;
using test::RefinedMesh;

constexpr int ranks = 9;

// How far a box is from a point along the axis on which it is farthest, in the nearest image.
double distance(const mesh::Geometry& geometry, const mesh::Box& box, const Position& point) {
  double farthest = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const double side = geometry.cell_size(axis), low = box.lo[axis] * side, high = box.hi[axis] * side;
    double nearest = std::max({0.0, low - point[a], point[a] - high});
    if (geometry.periodic[a])
      for (const double image : {-geometry.length[a], geometry.length[a]})
        nearest = std::min(nearest, std::max({0.0, low + image - point[a], point[a] - high - image}));
    farthest = std::max(farthest, nearest);
  }
  return farthest;
}

// The ranks other than `rank` with boxes within a distance of the point, or within that and some cells of the box.
std::set<int> ranks_within(const RefinedMesh& mesh, const Position& point, double reach, double cells, int rank) {
  std::set<int> near;
  for (int level = 0; level <= mesh.finest_level(); ++level) {
    const mesh::Geometry geometry = mesh.geometry.refined(level);
    const mesh::Layout& layout = mesh.levels[static_cast<std::size_t>(level)];
    for (std::int32_t box = 0; box < layout.size(); ++box)
      if (distance(geometry, layout.box(box), point) <= reach + cells * geometry.cell_size(0))
        near.insert(layout.owner(box));
  }
  near.erase(rank);
  return near;
}

TEST(NearRanks, AreThoseWithBlocksWithinReachAndNoneFarAway) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const RefinedMesh mesh = test::random_mesh({12, 8, 8}, 4, 2, {seed % 2 == 0, true, seed % 3 == 0}, ranks, seed);
    const test::Points points = test::clumped(mesh.geometry, 300, seed);
    for (const double reach : {0.01, 0.4, 1.7, 3.0, 9.0})
      for (const Position& point : points.positions) {
        const int rank = test::leaf_of(mesh, point).owner;
        const analysis::LeafOwners owners(rank, mesh.levels, mesh.geometry);
        std::set<int> found;

        analysis::NearRanks(rank, owners, reach).for_each(point, [&](int other) {
          EXPECT_TRUE(found.insert(other).second) << "told twice";
        });

        const auto least = ranks_within(mesh, point, reach, 0.0, rank),
                   most = ranks_within(mesh, point, reach, 1.001, rank);
        EXPECT_TRUE(std::includes(found.begin(), found.end(), least.begin(), least.end()));
        EXPECT_TRUE(std::includes(most.begin(), most.end(), found.begin(), found.end()));
      }
  }
}

TEST(LeafOwners, KnowTheRankOfEveryPoint) {
  const RefinedMesh mesh = test::random_mesh({12, 8, 8}, 4, 2, {true, true, true}, ranks, 3);
  const analysis::LeafOwners owners(2, mesh.levels, mesh.geometry);
  for (const Position& point : test::clumped(mesh.geometry, 1000, 3).positions) {
    const test::Leaf leaf = test::leaf_of(mesh, point);

    EXPECT_EQ(owners.owner(point), leaf.owner);
    EXPECT_EQ(owners.here(point).level, leaf.owner == 2 ? leaf.level : -1);
  }
}

}  // namespace
}  // namespace sidestream
