#include "sidestream/analysis/merge_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "analysis/flood_fill.hpp"
#include "analysis/grid.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using test::Grid;

struct Pair {
  std::int64_t maximum;
  double birth;
  std::int64_t saddle;
  double death;
};

std::vector<Pair> reference_pairs(int connectivity) {
  std::ifstream file(std::string(SIDESTREAM_TEST_DATA) + "/halo_pairs_F16_conn" + std::to_string(connectivity) +
                     ".csv");
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

class MergeTreeByConnectivity : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, MergeTreeByConnectivity, testing::Values(6, 14, 26));

TEST_P(MergeTreeByConnectivity, OfTheWaveFieldHasTheReferencePairs) {
  const Grid grid = test::wave_field(16);
  auto expected = reference_pairs(GetParam());
  std::sort(expected.begin(), expected.end(), [](const Pair& a, const Pair& b) { return a.birth > b.birth; });

  const MergeTree tree = merge_tree(grid.values, grid.cells, {true, true, true}, connectivity_of(GetParam()));

  ASSERT_GT(expected.size(), 40u);
  ASSERT_EQ(tree.branches().size(), expected.size());
  for (std::size_t b = 0; b < expected.size(); ++b) {
    const Branch& branch = tree.branches()[b];
    EXPECT_EQ(branch.maximum, expected[b].maximum);
    EXPECT_EQ(branch.saddle, expected[b].saddle);
    EXPECT_NEAR(branch.birth, expected[b].birth, 1e-11 * expected[b].birth);
    if (branch.saddle >= 0) {
      EXPECT_NEAR(branch.death, expected[b].death, 1e-11 * expected[b].death);
    }
  }
}

TEST_P(MergeTreeByConnectivity, AnswersThresholdsLikeAFloodFill) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const mesh::Periodicity wrap{seed % 3 != 0, seed % 2 == 0, true};
    const bool is_plateau = seed % 2 == 1;
    const Grid grid = test::random_field({9, 8, 7}, seed, is_plateau ? 5 : 0);
    const MergeTree tree = merge_tree(grid.values, grid.cells, wrap, connectivity_of(GetParam()));
    for (const double t : {0.3, 0.5, 0.7, 0.9}) {
      const double t_boundary = is_plateau ? std::floor(5 * t) : t, t_halo = is_plateau ? 4 : 0.95;
      const test::FloodFill oracle(grid, t_boundary, GetParam(), wrap);
      const auto halos = tree.halos(t_boundary, t_halo);
      std::set<std::int64_t> expected;
      for (const auto& [peak, group] : oracle.halos(t_halo)) expected.insert(peak);

      EXPECT_EQ(tree.components(t_boundary), static_cast<std::int64_t>(oracle.groups().size()));
      EXPECT_EQ(std::set(halos.begin(), halos.end()), expected);
    }
  }
}

TEST(MergeTree, OfTwoPeaksEndsTheLowerOneAtTheirSaddle) {
  const std::vector<double> values{1, 5, 2, 4, 3};

  const MergeTree tree = merge_tree(values, {5, 1, 1}, {false, false, false});

  ASSERT_EQ(tree.branches().size(), 2u);
  EXPECT_EQ(tree.branches()[0].maximum, 1);
  EXPECT_EQ(tree.branches()[0].saddle, -1);
  EXPECT_EQ(tree.branches()[0].death, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(tree.branches()[1].maximum, 3);
  EXPECT_EQ(tree.branches()[1].saddle, 2);
  EXPECT_EQ(tree.branches()[1].parent, 1);
  EXPECT_EQ(tree.branches()[1].persistence(), 2);
}

TEST(MergeTree, OfAConstantFieldIsItsFirstCell) {
  const Grid grid({4, 4, 4}, 1.0);

  const MergeTree tree = merge_tree(grid.values, grid.cells);

  ASSERT_EQ(tree.branches().size(), 1u);
  EXPECT_EQ(tree.branches()[0].maximum, 0);
}

TEST(MergeTree, AboveACutOffAnswersTheSameThere) {
  const Grid grid = test::wave_field(16);
  const MergeTree whole = merge_tree(grid.values, grid.cells),
                  cut = merge_tree(grid.values, grid.cells, {true, true, true}, Connectivity::freudenthal, 8.0);
  for (const double t : {8.0, 12.0, 20.0, 100.0}) {
    EXPECT_EQ(cut.components(t), whole.components(t));
    EXPECT_EQ(cut.halos(t, 40.0), whole.halos(t, 40.0));
  }
}

TEST(MergeTree, SimplifiedKeepsTheBranchesThatPersist) {
  const Grid grid = test::wave_field(16);

  const MergeTree tree = merge_tree(grid.values, grid.cells).simplified(107.8);

  ASSERT_EQ(tree.branches().size(), 5u);
  std::vector<double> persistences;
  for (const Branch& branch : tree.branches().subspan(1)) persistences.push_back(branch.persistence());
  std::sort(persistences.rbegin(), persistences.rend());
  EXPECT_NEAR(persistences[0], 159.84644670, 1e-8);
  EXPECT_NEAR(persistences[1], 155.82304041, 1e-8);
  EXPECT_NEAR(persistences[2], 124.14840674, 1e-8);
  EXPECT_NEAR(persistences[3], 107.84061605, 1e-8);
}

TEST(MergeTree, RefusesWhatIsNoNumber) {
  std::vector<double> values(8, 1.0);
  values[5] = std::numeric_limits<double>::quiet_NaN();

  EXPECT_THROW(merge_tree(values, {2, 2, 2}), core::Error);
}

}  // namespace
}  // namespace sidestream::analysis
