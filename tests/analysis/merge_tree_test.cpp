#include "sidestream/analysis/merge_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "analysis/flood_fill.hpp"
#include "analysis/grid.hpp"
#include "analysis/vertex_sweep.hpp"
#include "sidestream/core/error.hpp"
#include "support/delayed_messages.hpp"
#include "support/places.hpp"

namespace sidestream::analysis {
namespace {

using test::Grid;

constexpr mesh::Periodicity periodic{true, true, true};

// The field of a grid on a layout, and its merge tree.
struct Tree {
  Tree(const comm::Communicator& comm, const Grid& grid, const mesh::Layout& layout, TreeOptions options = {})
      : field(grid.on(layout, comm.rank())), tree(comm, LeafField{field}, options) {}
  const MergeTree* operator->() const { return &tree; }
  std::vector<Branch> branches(const comm::Communicator& comm) const { return comm.broadcast(tree.all_branches()); }

  mesh::Field<double> field;
  MergeTree tree;
};

TreeOptions with(int connectivity) {
  TreeOptions options;
  options.connectivity = connectivity_of(connectivity);
  return options;
}

class MergeTrees : public testing::TestWithParam<int> {
 protected:
  const comm::Communicator world_{MPI_COMM_WORLD};
};
INSTANTIATE_TEST_SUITE_P(All, MergeTrees, testing::Values(6, 14, 26));

struct Pair {
  std::int64_t maximum;
  double birth;
  std::int64_t saddle;
  double death;
};

std::vector<Pair> reference_pairs(int connectivity) {
  std::ifstream file(test::test_data("halo_pairs_F16_conn") + std::to_string(connectivity) + ".csv");
  std::vector<Pair> pairs;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::replace(line.begin(), line.end(), ',', ' ');
    Pair pair{};
    std::istringstream(line) >> pair.maximum >> pair.birth >> pair.saddle >> pair.death;
    pairs.push_back(pair);
  }
  return pairs;
}

TEST_P(MergeTrees, AreTheSameInWhateverOrderMessagesCome) {
  const Grid grid = test::random_field({12, 10, 8}, 5, 40);
  const auto layout = mesh::split(grid.domain(), {1, 2, world_.size()}, periodic);
  const Tree expected(world_, grid, layout, with(GetParam()));
  const auto branches = expected.branches(world_);
  const auto component = expected->component_of(branches[0].maximum, 20.0);

  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const test::DelayedMessages delayed(seed);
    const Tree tree(world_, grid, layout, with(GetParam()));

    EXPECT_TRUE(tree.branches(world_) == branches) << "seed " << seed;
    EXPECT_EQ(tree->component_of(branches[0].maximum, 20.0), component);
  }
}

TEST_P(MergeTrees, OfTheWaveFieldHaveTheReferencePairs) {
  const Grid grid = test::wave_field(16);
  auto expected = reference_pairs(GetParam());
  std::sort(expected.begin(), expected.end(), [](const Pair& a, const Pair& b) { return a.birth > b.birth; });

  const Tree tree(world_, grid, test::random_layout(grid.cells, periodic, world_.size(), 20, 3), with(GetParam()));
  const auto branches = tree.branches(world_);

  ASSERT_GT(expected.size(), 40u);
  ASSERT_EQ(branches.size(), expected.size());
  for (std::size_t b = 0; b < expected.size(); ++b) {
    EXPECT_EQ(branches[b].maximum, expected[b].maximum);
    EXPECT_EQ(branches[b].saddle, expected[b].saddle);
    EXPECT_NEAR(branches[b].birth, expected[b].birth, 1e-11 * expected[b].birth);
    if (branches[b].saddle >= 0) {
      EXPECT_NEAR(branches[b].death, expected[b].death, 1e-11 * expected[b].death);
    }
  }
}

TEST_P(MergeTrees, OfRandomFieldsAreThoseOfASweepOnAnyLayout) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    test::Dice dice(seed);
    const mesh::Int3 cells{1 + dice.below(11), 1 + dice.below(11), 1 + dice.below(11)};
    const mesh::Periodicity wrap{dice.below(4) > 0, dice.below(4) > 0, dice.below(4) > 0};
    const Grid grid = test::random_field(cells, seed, seed % 2 == 1 ? 5 : 0);
    const auto layout = test::random_layout(cells, wrap, world_.size(), 1 + dice.below(40), seed);
    TreeOptions options = with(GetParam());
    options.threads = 1 + static_cast<int>(seed % 3);
    if (seed % 5 == 0) options.cut_off = seed % 2 == 1 ? 2.0 : 0.4;

    const Tree tree(world_, grid, layout, options);

    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EXPECT_TRUE(tree.branches(world_) ==
                test::vertex_sweep::branches(grid.values, cells, wrap, options.connectivity, options.cut_off));
  }
}

TEST_P(MergeTrees, OfSmoothFieldsAreThoseOfASweepOnAnyLayout) {
  const Grid grid = test::wave_field(16);
  const auto expected = test::vertex_sweep::branches(grid.values, grid.cells, periodic, connectivity_of(GetParam()));
  for (const int boxes : {1, 2, 8, 60, 600}) {
    const Tree tree(world_, grid, test::random_layout(grid.cells, periodic, world_.size(), boxes, 9), with(GetParam()));

    EXPECT_TRUE(tree.branches(world_) == expected) << boxes;
  }
}

TEST_P(MergeTrees, OfNoiseInManyCellsAreThoseOfASweep) {
  const mesh::Int3 cells{40, 36, 33};
  for (const int levels : {0, 40}) {
    const Grid grid = test::random_field(cells, 11, levels);
    const auto layout = test::random_layout(cells, periodic, world_.size(), 50, 11);

    const Tree tree(world_, grid, layout, with(GetParam()));

    EXPECT_TRUE(tree.branches(world_) ==
                test::vertex_sweep::branches(grid.values, cells, periodic, connectivity_of(GetParam())));
  }
}

TEST_P(MergeTrees, AnswerThresholdsLikeAFloodFill) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const mesh::Periodicity wrap{seed % 3 != 0, seed % 2 == 0, true};
    const bool is_plateau = seed % 2 == 1;
    const Grid grid = test::random_field({9, 8, 7}, seed, is_plateau ? 5 : 0);
    const Tree tree(world_, grid, test::random_layout(grid.cells, wrap, world_.size(), 12, seed), with(GetParam()));
    for (const double t : {0.3, 0.5, 0.7, 0.9}) {
      const double t_boundary = is_plateau ? std::floor(5 * t) : t, t_halo = is_plateau ? 4 : 0.95;
      const test::FloodFill oracle(grid, t_boundary, GetParam(), wrap);

      EXPECT_EQ(tree->components(t_boundary), static_cast<std::int64_t>(oracle.groups().size()));
      EXPECT_EQ(tree->components(t_boundary, t_halo), static_cast<std::int64_t>(oracle.halos(t_halo).size()));
    }
  }
}

TEST_P(MergeTrees, KnowTheComponentOfEachCell) {
  const Grid grid = test::random_field({6, 5, 4}, 4);
  const Tree tree(world_, grid, test::random_layout(grid.cells, periodic, world_.size(), 15, 2), with(GetParam()));
  for (const double t : {0.4, 0.7}) {
    const auto expected = test::FloodFill(grid, t, GetParam(), periodic).membership(t);
    for (std::int64_t cell = 0; cell < grid.cells.product(); cell += 3) {
      const std::int64_t other = (cell * 7 + 5) % grid.cells.product();
      const std::int64_t component = expected[static_cast<std::size_t>(cell)];

      EXPECT_EQ(tree->component_of(cell, t), component);
      EXPECT_EQ(tree->connected(cell, other, t),
                component >= 0 && component == expected[static_cast<std::size_t>(other)]);
    }
  }
}

TEST_P(MergeTrees, OfSetsBelowAreThoseOfTheFieldTurnedOver) {
  const Grid grid = test::random_field({9, 7, 8}, 5);
  Grid turned = grid;
  for (double& value : turned.values) value = -value;
  const auto layout = test::random_layout(grid.cells, periodic, world_.size(), 12, 8);
  TreeOptions options = with(GetParam()), below = options;
  below.sets = Sets::below;

  const Tree tree(world_, grid, layout, below);
  const auto branches = tree.branches(world_);

  auto expected = test::vertex_sweep::branches(turned.values, grid.cells, periodic, options.connectivity);
  for (Branch& branch : expected) {
    branch.birth = -branch.birth;
    branch.death = -branch.death;
  }
  EXPECT_TRUE(branches == expected);
  EXPECT_EQ(
      tree->components(0.3),
      test::vertex_sweep::branches(turned.values, grid.cells, periodic, options.connectivity, -0.3).size() - 0u - [&] {
        std::size_t merged = 0;
        for (const Branch& b : expected) merged += b.birth <= 0.3 && b.death <= 0.3;
        return merged;
      }());
}

class MergeTree1 : public testing::Test {
 protected:
  const comm::Communicator world_{MPI_COMM_WORLD};
};

TEST_F(MergeTree1, OfTwoPeaksEndsTheLowerOneAtTheirSaddle) {
  Grid grid({5, 1, 1});
  grid.values = {1, 5, 2, 4, 3};
  const mesh::Periodicity closed{false, false, false};

  const Tree tree(world_, grid, test::random_layout(grid.cells, closed, world_.size(), 4, 1));
  const auto branches = tree.branches(world_);

  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches[0].maximum, 1);
  EXPECT_EQ(branches[0].saddle, -1);
  EXPECT_EQ(branches[0].death, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(branches[1].maximum, 3);
  EXPECT_EQ(branches[1].saddle, 2);
  EXPECT_EQ(branches[1].parent, 1);
  EXPECT_EQ(branches[1].persistence(), 2);
}

TEST_F(MergeTree1, OfAConstantFieldIsItsFirstCell) {
  const Grid grid({4, 4, 4}, 1.0);

  const Tree tree(world_, grid, test::random_layout(grid.cells, periodic, world_.size(), 9, 1));
  const auto branches = tree.branches(world_);

  ASSERT_EQ(branches.size(), 1u);
  EXPECT_EQ(branches[0].maximum, 0);
}

TEST_F(MergeTree1, AboveACutOffAnswersTheSameThereAndRefusesToBeyond) {
  const Grid grid = test::wave_field(16);
  const auto layout = test::random_layout(grid.cells, periodic, world_.size(), 30, 1);
  TreeOptions options;
  options.cut_off = 8.0;

  const Tree whole(world_, grid, layout), cut(world_, grid, layout, options);

  for (const double t : {8.0, 12.0, 20.0, 100.0}) {
    EXPECT_EQ(cut->components(t), whole->components(t));
    EXPECT_EQ(cut->components(t, 40.0), whole->components(t, 40.0));
  }
  EXPECT_THROW(cut->components(7.9), core::Error);
  EXPECT_THROW(cut->components(std::numeric_limits<double>::quiet_NaN()), core::Error);
}

TEST_F(MergeTree1, SimplifiedKeepsTheBranchesThatPersist) {
  const Grid grid = test::wave_field(16);
  const Tree tree(world_, grid, test::random_layout(grid.cells, periodic, world_.size(), 30, 1));

  const auto kept = simplified(tree.branches(world_), 107.8);

  ASSERT_EQ(kept.size(), 5u);
  std::vector<double> persistences;
  for (const Branch& branch : kept) persistences.push_back(branch.persistence());
  std::sort(persistences.rbegin(), persistences.rend());
  EXPECT_NEAR(persistences[1], 159.84644670, 1e-8);
  EXPECT_NEAR(persistences[2], 155.82304041, 1e-8);
  EXPECT_NEAR(persistences[3], 124.14840674, 1e-8);
  EXPECT_NEAR(persistences[4], 107.84061605, 1e-8);
}

TEST_F(MergeTree1, RefusesWhatIsNoNumberOnAllRanks) {
  Grid grid({4, 4, 4}, 1.0);
  const auto layout = test::random_layout(grid.cells, periodic, world_.size(), 9, 1);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    grid(1, 2, 3) = bad;

    EXPECT_THROW(Tree(world_, grid, layout), core::Error);
  }
}

}  // namespace
}  // namespace sidestream::analysis
