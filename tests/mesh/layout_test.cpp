#include "sidestream/mesh/layout.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sidestream/core/error.hpp"
#include "sidestream/mesh/forest.hpp"

namespace sidestream::mesh {
namespace {

// A random partition of `box` into boxes by repeated cuts.
void cut(const Box& box, int pieces, std::mt19937& random, std::vector<Box>& out) {
  const int axis = static_cast<int>(random() % 3);
  if (pieces == 1 || box.extent()[axis] < 2) {
    out.push_back(box);
    return;
  }
  Box low = box, high = box;
  low.hi[axis] = high.lo[axis] =
      box.lo[axis] + 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(box.extent()[axis] - 1));
  cut(low, pieces / 2, random, out);
  cut(high, pieces - pieces / 2, random, out);
}

Layout random_layout(unsigned seed, Int3 cells = {13, 7, 9}) {
  std::mt19937 random(seed);
  std::vector<Box> boxes;
  cut(domain_of(cells), 20, random, boxes);
  std::vector<std::int32_t> owners;
  for (std::size_t i = 0; i < boxes.size(); ++i) owners.push_back(static_cast<std::int32_t>(random() % 5));
  return {domain_of(cells), {true, true, true}, boxes, owners};
}

TEST(Layout, FindsTheBoxOfEveryCell) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Layout layout = random_layout(seed);
    check(layout);
    const Int3 cells = layout.domain().extent();
    for (std::int32_t z = 0; z < cells.z; ++z)
      for (std::int32_t y = 0; y < cells.y; ++y)
        for (std::int32_t x = 0; x < cells.x; ++x) {
          const auto found = layout.find({x, y, z});
          ASSERT_GE(found, 0);
          ASSERT_TRUE(layout.box(found).contains(Int3{x, y, z}));
        }
  }
}

TEST(Layout, ReportsEachMeetingBoxOnceAsABruteForceScanDoes) {
  std::mt19937 random(1);
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Layout layout = random_layout(seed);
    const auto corner = [&] { return static_cast<std::int32_t>(random() % 20) - 4; };
    const Box region{{corner(), corner(), corner()}, {corner(), corner(), corner()}};
    std::multiset<std::int32_t> found, expected;
    layout.for_each_meeting(region, [&](std::int32_t index) { found.insert(index); });
    for (std::int32_t i = 0; i < layout.size(); ++i)
      if (!intersection(layout.box(i), region).is_empty()) expected.insert(i);
    EXPECT_EQ(found, expected);
  }
}

TEST(Layout, ReportsPeriodicImagesAsABruteForceScanDoes) {
  const Layout layout = random_layout(3);
  const Int3 cells = layout.domain().extent();
  const Box region{{-5, 2, -1}, {3, 12, 10}};
  std::multiset<std::array<int, 4>> found, expected;
  layout.for_each_image_meeting(region, [&](std::int32_t i, Int3 s) { found.insert({i, s.x, s.y, s.z}); });
  for (std::int32_t i = 0; i < layout.size(); ++i)
    for (int z = -2; z <= 2; ++z)
      for (int y = -2; y <= 2; ++y)
        for (int x = -2; x <= 2; ++x) {
          const Int3 shift{x * cells.x, y * cells.y, z * cells.z};
          if (!intersection(layout.box(i).shifted(shift), region).is_empty())
            expected.insert({i, shift.x, shift.y, shift.z});
        }
  EXPECT_EQ(found, expected);
}

TEST(Layout, GroupsBoxesByOwnerAndGivesNothingToOthers) {
  const Layout layout = random_layout(4);
  std::int32_t total = 0;
  for (int rank = 0; rank < 7; ++rank)
    for (const auto index : layout.boxes_of(rank)) {
      EXPECT_EQ(layout.owner(index), rank);
      ++total;
    }
  EXPECT_EQ(total, layout.size());
  EXPECT_TRUE(layout.boxes_of(99).empty());
}

TEST(Layout, CheckFindsOverlapsAndBoxesOutside) {
  const Box domain = domain_of({4, 4, 4});
  EXPECT_THROW(check(Layout(domain, {}, {domain, {{1, 1, 1}, {2, 2, 2}}}, {0, 0})), core::Error);
  EXPECT_THROW(check(Layout(domain, {}, {{{2, 2, 2}, {5, 3, 3}}}, {0})), core::Error);
}

TEST(Layout, RenumberingKeepsBoxesAndMovesOwners) {
  const Layout layout = split(domain_of({8, 8, 8}), {2, 1, 1});
  const std::array<std::int32_t, 2> rank_of{5, 3};
  const Layout moved = layout.renumbered(rank_of);
  EXPECT_EQ(moved.owner(0), 5);
  EXPECT_EQ(moved.boxes_of(3).size(), 1u);
  EXPECT_EQ(moved.box(1), layout.box(1));
}

TEST(Layout, TablesOfManyBoxesStayBelowHundredBytesABox) {
  const Layout layout = Forest({1024, 1024, 1024}, 16).layout(2048);
  EXPECT_EQ(layout.size(), 262144);
  EXPECT_LT(layout.size_bytes(), 60u * 262144u);
}

TEST(Layout, ThinBoxesOfAVastDomainAreFound) {
  constexpr std::int32_t side = 1 << 29;
  const Layout layout({{0, 0, 0}, {side, side, 1}}, {}, {{{7, 0, 0}, {8, side, 1}}, {{side - 1, 5, 0}, {side, 6, 1}}},
                      {0, 0});

  EXPECT_EQ(layout.find({7, side - 1, 0}), 0);
  EXPECT_EQ(layout.find({8, side - 1, 0}), -1);
  EXPECT_EQ(layout.find({side - 1, 5, 0}), 1);
}

TEST(Forest, DealsAllLeavesInContiguousNearlyEqualPieces) {
  const Forest forest({64, 32, 48}, 16);
  const Layout layout = forest.layout(5);
  check(layout);
  std::int64_t cells = 0;
  for (int rank = 0; rank < 5; ++rank) {
    const auto mine = layout.boxes_of(rank);
    EXPECT_GE(mine.size(), 4u);
    EXPECT_LE(mine.size(), 5u);
    for (std::size_t i = 1; i < mine.size(); ++i) EXPECT_EQ(mine[i], mine[i - 1] + 1);
    for (const auto index : mine) cells += layout.box(index).volume();
  }
  EXPECT_EQ(cells, 64 * 32 * 48);
}

TEST(Forest, LeavesRanksBeyondTheLeavesEmpty) {
  const Layout layout = Forest({16, 16, 16}, 16).layout(3);
  std::size_t total = 0;
  for (int rank = 0; rank < 3; ++rank) total += layout.boxes_of(rank).size();
  EXPECT_EQ(total, 1u);
}

TEST(Forest, RefusesCellsThatAreNoWholeNumberOfBlocks) {
  EXPECT_THROW(Forest({40, 32, 32}, 16), core::Error);
}

TEST(Forest, TakesFlatAxes) {
  const Forest forest({64, 64, 1}, 16);
  EXPECT_EQ(forest.leaves(), 16u);
  check(forest.layout(2));
}

}  // namespace
}  // namespace sidestream::mesh
