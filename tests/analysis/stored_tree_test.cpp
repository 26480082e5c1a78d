// Merge trees as tables, and trees made of them on other ranks.
#include <gtest/gtest.h>

#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using test::Grid;

constexpr mesh::Periodicity periodic{true, true, true};

// All rows of a result on one rank of `comm`, none on the others.
mesh::Result on_one_rank(const comm::Communicator& comm, const mesh::Result& result, int root) {
  mesh::Result moved;
  moved.attributes = result.attributes;
  moved.distributed = result.distributed;
  for (const mesh::Column& column : result.columns)
    std::visit(
        [&](const auto& values) {
          auto all = comm.gather(std::span(values), root);
          const auto length = static_cast<std::int64_t>(all.size());
          moved.add(column.name, column.unit, column.description, column.dimensions, {length}, std::move(all));
        },
        column.values);
  return moved;
}

class StoredTrees : public testing::TestWithParam<int> {
 protected:
  void expect_same(const MergeTree& tree, const MergeTree& stored, std::initializer_list<double> thresholds) const {
    EXPECT_TRUE(world_.broadcast(stored.all_branches()) == world_.broadcast(tree.all_branches()));
    for (const double t : thresholds) {
      EXPECT_EQ(stored.components(t), tree.components(t));
      EXPECT_EQ(stored.components(t, 2 * t), tree.components(t, 2 * t));
      for (const std::int64_t cell : {0, 77, 1234}) EXPECT_EQ(stored.component_of(cell, t), tree.component_of(cell, t));
    }
  }
  const comm::Communicator world_{MPI_COMM_WORLD};
};
INSTANTIATE_TEST_SUITE_P(All, StoredTrees, testing::Values(6, 14, 26));

TEST_P(StoredTrees, AnswerAsTheTreeDoesOnAnyDealOfTheirRows) {
  const Grid grid = test::wave_field(16);
  for (const double cut_off : {-std::numeric_limits<double>::infinity(), 8.0}) {
    const auto layout = test::random_layout(grid.cells, periodic, world_.size(), 25, 3);
    const auto field = grid.on(layout, world_.rank());
    TreeOptions options;
    options.connectivity = connectivity_of(GetParam());
    options.cut_off = cut_off;
    const MergeTree tree(world_, LeafField{field}, options);

    const mesh::Result result = tree.to_result({{"twice", "1", LeafField{field}}});
    const StoredTree same(world_, result), other(world_, on_one_rank(world_, result, world_.size() - 1));

    expect_same(tree, same.tree, {8.0, 20.0, 40.0});
    expect_same(tree, other.tree, {8.0, 20.0, 40.0});
    ASSERT_EQ(other.fields.size(), 1u);
    EXPECT_EQ(other.fields[0].name, "twice");
  }
}

TEST_P(StoredTrees, OfRefinedMeshesAnswerAsTheTreeDoes) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const auto mesh = test::random_mesh({8, 8, 8}, 4, 2, periodic, world_.size(), seed);
    const auto value = [&](int level, mesh::Int3 cell) { return test::noise(seed, level, cell); };
    TreeOptions options;
    options.connectivity = connectivity_of(GetParam());
    options.cut_off = seed % 2 == 0 ? 0.3 : -std::numeric_limits<double>::infinity();
    const MergeTree tree(world_, test::shared(test::leaves_of(mesh, world_.rank(), value)), options);

    const StoredTree stored(world_, on_one_rank(world_, tree.to_result(), 0));

    expect_same(tree, stored.tree, {0.3, 0.45, 0.6});
  }
}

TEST(StoredTree, OfSetsBelowAndOfNothingAnswer) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Grid grid = test::random_field({9, 8, 7}, 3);
  const auto field = grid.on(test::random_layout(grid.cells, periodic, world.size(), 9, 3), world.rank());
  TreeOptions below, nothing;
  below.sets = Sets::below;
  below.cut_off = -0.5;
  nothing.cut_off = 2.0;
  const MergeTree tree(world, LeafField{field}, below), empty(world, LeafField{field}, nothing);

  const StoredTree stored(world, tree.to_result()), none(world, empty.to_result());

  EXPECT_EQ(stored.tree.components(0.4), tree.components(0.4));
  EXPECT_EQ(none.tree.components(3.0), 0);
  EXPECT_TRUE(none.tree.branches().empty());
  EXPECT_EQ(none.tree.component_of(5, 2.5), -1);
}

TEST(StoredTree, RefusesTablesThatDoNotFitTogether) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Grid grid = test::wave_field(16);
  const auto field = grid.on(test::random_layout(grid.cells, periodic, world.size(), 25, 3), world.rank());
  TreeOptions options;
  options.cut_off = 8.0;
  const mesh::Result sound = MergeTree(world, LeafField{field}, options).to_result();
  const auto change = [&](const std::string& name, std::int64_t by) {
    mesh::Result damaged = sound;
    for (mesh::Column& column : damaged.columns)
      if (column.name == name)
        for (std::int64_t& value : std::get<std::vector<std::int64_t>>(column.values)) value += by;
    return damaged;
  };
  for (const char* name : {"block_level", "block_runs", "block_cells", "block_maxima", "run_x", "run_length",
                           "cell_maximum", "parent_row"}) {
    EXPECT_THROW(StoredTree(world, change(name, 100000)), core::Error) << name;
    EXPECT_THROW(StoredTree(world, change(name, -100000)), core::Error) << name;
  }
  mesh::Result headless = sound;
  headless.attributes.clear();
  EXPECT_THROW(StoredTree(world, headless), core::Error);
}

TEST(MergeTreeTask, StoresATreeWithTheFieldsAskedFor) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({16, 12, 8}, periodic, world.size(), 9, 1);
  const auto snapshot = test::cosmology_snapshot(layout, world.rank());

  const auto result =
      test::analysis_of("analysis = 'merge_tree'\ncut_off = '5 mean'\nstore = ['velocity_x']")->run(world, snapshot);
  const StoredTree stored(world, result);

  const auto halos =
      test::analysis_of("analysis = 'halos'\nt_boundary = '6 mean'\nt_halo = '20 mean'")->run(world, snapshot);
  const double mean = world.broadcast(world.rank() == 0 ? std::get<double>(result.attributes.at("mean_density")) : 0.0);
  const std::int64_t count = stored.tree.components(6 * mean, 20 * mean);
  ASSERT_EQ(stored.fields.size(), 1u);
  EXPECT_EQ(stored.fields[0].name, "velocity_x");
  EXPECT_GT(count, 0);
  if (world.rank() == 0) {
    EXPECT_EQ(count, halos.dimensions.at("halo"));
  }
}

}  // namespace
}  // namespace sidestream::analysis
