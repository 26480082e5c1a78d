#include "sidestream/mesh/forest.hpp"

#include <gtest/gtest.h>

#include <random>

#include "sidestream/core/error.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::mesh {
namespace {

using Wishes = std::vector<std::vector<Adaptation>>;

Wishes wishes_for(const Forest& forest, Adaptation wish) {
  Wishes wishes;
  for (int level = 0; level <= forest.finest_level(); ++level)
    wishes.emplace_back(static_cast<std::size_t>(forest.size(level)), wish);
  return wishes;
}

// Refines the leaf that holds `point` (in units of the domain) until it is on `level`.
Forest refined_at(Forest forest, std::array<double, 3> point, int level) {
  for (int l = 0; l < level; ++l) {
    auto wishes = wishes_for(forest, Adaptation::keep);
    Int3 at;
    for (int axis = 0; axis < 3; ++axis)
      at[axis] = static_cast<std::int32_t>(point[static_cast<std::size_t>(axis)] * forest.blocks(l)[axis]);
    const auto block = forest.find({l, at});
    EXPECT_GE(block, 0);
    wishes[static_cast<std::size_t>(l)][static_cast<std::size_t>(block)] = Adaptation::refine;
    forest = forest.adapted(wishes, 0, level);
    check(forest);
  }
  return forest;
}

TEST(Forest, OneRootFullyRefinedFourTimesHasFLASHsNumbersOfBlocks) {
  Forest forest({8, 8, 8}, 8);
  for (int round = 0; round < 5; ++round) forest = forest.adapted(wishes_for(forest, Adaptation::refine), 0, 4);
  EXPECT_EQ(forest.finest_level(), 4);
  EXPECT_EQ(forest.leaves(), 4096);
  std::int64_t all = 0;
  for (int level = 0; level <= 4; ++level) all += forest.size(level);
  EXPECT_EQ(all, 4681);
  check(forest);
}

TEST(Forest, RefiningACornerKeepsNeighboursWithinOneLevelAcrossPeriodicBoundaries) {
  const Forest forest = refined_at(Forest({16, 16, 16}, 4), {0.01, 0.01, 0.01}, 4);
  EXPECT_EQ(forest.finest_level(), 4);
  // The opposite corner touches it across the boundary, so it is refined nearly as far.
  const Int3 last = forest.blocks(3) - Int3{1, 1, 1};
  EXPECT_GE(forest.find({3, last}), 0);
}

TEST(Forest, WallsDoNotPassRefinementOn) {
  const Forest forest = refined_at(Forest({16, 16, 16}, 4, {false, false, false}), {0.01, 0.01, 0.01}, 4);
  EXPECT_EQ(forest.find({1, forest.blocks(1) - Int3{1, 1, 1}}), -1);
  EXPECT_EQ(forest.neighbor({0, {0, 0, 0}}, {-1, 0, 0}), -2);
}

TEST(Forest, FlatAxesAreNotRefined) {
  const Forest forest = refined_at(Forest({16, 16, 1}, 8), {0.3, 0.6, 0.0}, 3);
  EXPECT_EQ(forest.children(), 4);
  EXPECT_EQ(forest.cells(3), (Int3{128, 128, 1}));
  EXPECT_EQ(forest.box(3, 0).extent(), (Int3{8, 8, 1}));
}

TEST(Forest, CoarseningNeedsAllSiblingsAndLeavesTheLowestLevelAlone) {
  const Forest fine = Forest({8, 8, 8}, 4).adapted(wishes_for(Forest({8, 8, 8}, 4), Adaptation::refine), 0, 1);
  auto wishes = wishes_for(fine, Adaptation::coarsen);
  wishes[1][3] = Adaptation::keep;
  const Forest mixed = fine.adapted(wishes, 0, 1);
  EXPECT_EQ(mixed.size(1), 8);
  EXPECT_EQ(mixed.leaves(), 15);
  EXPECT_EQ(fine.adapted(wishes, 1, 1), fine);
  EXPECT_EQ(fine.adapted(wishes_for(fine, Adaptation::coarsen), 0, 1), Forest({8, 8, 8}, 4));
}

TEST(Forest, AHundredRandomChangesKeepTheInvariants) {
  std::mt19937 random(7);
  for (const Int3 cells : {Int3{12, 8, 16}, Int3{16, 12, 1}}) {
    Forest forest(cells, 4, {true, false, true});
    for (int round = 0; round < 100; ++round) {
      auto wishes = wishes_for(forest, Adaptation::keep);
      for (auto& level : wishes)
        for (Adaptation& wish : level) wish = static_cast<Adaptation>(random() % 7 == 0 ? 2 : random() % 2);
      forest = forest.adapted(wishes, 0, 3);
      check(forest);
      std::int64_t cells_covered = 0;
      for (int level = 0; level <= forest.finest_level(); ++level)
        for (std::int32_t b = 0; b < forest.size(level); ++b)
          if (forest.is_leaf(level, b))
            cells_covered += forest.children() == 8 ? 1 << 3 * (3 - level) : 1 << 2 * (3 - level);
      EXPECT_EQ(cells_covered, forest.blocks(3).product());
    }
  }
}

TEST(Forest, IsMadeAgainFromItsRefinedBlocks) {
  const Forest forest = refined_at(Forest({16, 16, 16}, 4), {0.7, 0.2, 0.4}, 3);
  std::vector<BlockKey> refined;
  for (int level = 0; level < forest.finest_level(); ++level)
    for (std::int32_t b = 0; b < forest.size(level); ++b)
      if (!forest.is_leaf(level, b)) refined.push_back(forest.key(level, b));
  EXPECT_EQ(Forest({16, 16, 16}, 4, {true, true, true}, refined), forest);
  refined.push_back({3, {0, 0, 0}});
  EXPECT_THROW(Forest({16, 16, 16}, 4, {true, true, true}, refined), core::Error);
}

TEST(Forest, WeightsMoveTheCutsBetweenRanks) {
  const Forest forest({16, 16, 16}, 4);
  std::vector<double> weights(64, 1.0);
  weights[0] = 63.0;
  const Layout layout = forest.layout(2, 0, weights);
  EXPECT_EQ(layout.boxes_of(0).size(), 1u);
  EXPECT_EQ(layout.boxes_of(1).size(), 63u);
}

TEST(Hierarchy, LeavesTileTheDomainAndRefinedBlocksInsideAreFarFromThem) {
  const Forest forest = refined_at(Forest({32, 32, 32}, 4), {0.5, 0.5, 0.5}, 2);
  const Hierarchy hierarchy(forest, {domain_of({32, 32, 32}), {1.0, 1.0, 1.0}}, 3);
  double volume = 0.0;
  for (int level = 0; level <= 2; ++level) {
    const Layout leaves = hierarchy.leaf_layout(level);
    check(leaves);
    for (const Box& box : leaves.boxes())
      volume += static_cast<double>(box.volume()) * hierarchy.geometry(level).cell_volume();
    for (std::int32_t b = 0; b < forest.size(level); ++b)
      EXPECT_TRUE(!forest.is_leaf(level, b) || hierarchy.is_near_leaf(level, b));
  }
  EXPECT_DOUBLE_EQ(volume, 1.0);
  Forest all = Forest({16, 16, 16}, 4).adapted(wishes_for(Forest({16, 16, 16}, 4), Adaptation::refine), 0, 1);
  EXPECT_FALSE(Hierarchy(all, {domain_of({16, 16, 16}), {1.0, 1.0, 1.0}}, 1).is_near_leaf(0, 5));
}

TEST(Hierarchy, CoarsenedLayoutsKeepTheirOwners) {
  const Forest forest = refined_at(Forest({16, 16, 1}, 8), {0.5, 0.5, 0.0}, 1);
  const Hierarchy hierarchy(forest, {domain_of({16, 16, 1}), {1.0, 1.0, 0.1}}, 2);
  const Layout outlines = coarsened(hierarchy.layout(1));
  EXPECT_EQ(outlines.domain(), hierarchy.layout(0).domain());
  EXPECT_EQ(outlines.box(1).extent(), (Int3{4, 4, 1}));
  EXPECT_EQ(outlines.owner(1), hierarchy.layout(1).owner(1));
}

}  // namespace
}  // namespace sidestream::mesh
