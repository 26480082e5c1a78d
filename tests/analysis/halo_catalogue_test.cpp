// Catalogues of trees, stored or not, and of voids.
#include "sidestream/analysis/halo_catalogue.hpp"

#include <gtest/gtest.h>

#include "analysis/flood_fill.hpp"
#include "analysis/grid.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using test::Grid;

constexpr mesh::Periodicity periodic{true, true, true};

class HaloCatalogue : public testing::Test {
 protected:
  MergeTree tree_of(Sets sets) {
    TreeOptions options;
    options.sets = sets;
    return {world_, LeafField{field_}, options};
  }
  TreeField about() const { return {"density", "Msun/Mpc^3", mean_, test::unit_cells(grid_.cells, periodic), "kpc"}; }
  std::vector<std::int64_t> ids(const mesh::Result& result) const {
    return world_.rank() == 0 ? std::get<std::vector<std::int64_t>>(result.column("id").values)
                              : std::vector<std::int64_t>();
  }

  const comm::Communicator world_{MPI_COMM_WORLD};
  const Grid grid_ = test::wave_field(16);
  const mesh::Field<double> field_ =
      grid_.on(test::random_layout(grid_.cells, periodic, world_.size(), 25, 3), world_.rank());
  const double mean_ = mean(world_, field_, "density");
};

TEST_F(HaloCatalogue, OfAStoredTreeIsThatOfTheTree) {
  const MergeTree tree = tree_of(Sets::above);
  mesh::Result stored = tree.to_result();
  describe(about(), stored);

  const TreeField field = tree_field(world_, stored);
  const HaloQuery query{parse_threshold("20"), parse_threshold("10 mean")};
  const mesh::Result again = halo_catalogue(world_, StoredTree(world_, stored).tree, field, query);
  const mesh::Result expected = halo_catalogue(world_, tree, about(), query);

  EXPECT_EQ(field.name, "density");
  EXPECT_EQ(field.unit, "Msun/Mpc^3");
  EXPECT_EQ(field.length_unit, "kpc");
  EXPECT_EQ(field.mean, mean_);
  EXPECT_EQ(field.geometry.length, about().geometry.length);
  ASSERT_EQ(again.columns.size(), expected.columns.size());
  for (std::size_t c = 0; c < expected.columns.size(); ++c)
    EXPECT_TRUE(again.columns[c].values == expected.columns[c].values) << expected.columns[c].name;
  EXPECT_TRUE(again.attributes == expected.attributes);
  if (world_.rank() == 0) {
    EXPECT_EQ(again.column("volume").unit, "kpc^3");
    EXPECT_EQ(std::get<double>(again.attributes.at("t_halo")), 10 * mean_);
    EXPECT_EQ(ids(again).size(), test::FloodFill(grid_, 20.0, 14, periodic).halos(10 * mean_).size());
  }
}

TEST_F(HaloCatalogue, OfATreeOfAnOlderVersionHasTheUnitsOfItsDensity) {
  mesh::Result stored = tree_of(Sets::above).to_result();
  describe(about(), stored);
  stored.attributes.erase("length_unit");

  EXPECT_EQ(tree_field(world_, stored).length_unit, "Mpc");
}

TEST_F(HaloCatalogue, LeavesSmallHalosOut) {
  const mesh::Result all =
      halo_catalogue(world_, tree_of(Sets::above), about(), {parse_threshold("20"), parse_threshold("40")});
  const mesh::Result large =
      halo_catalogue(world_, tree_of(Sets::above), about(), {parse_threshold("20"), parse_threshold("40"), 15});

  if (world_.rank() != 0) return;
  EXPECT_LT(large.dimensions.at("halo"), all.dimensions.at("halo"));
  for (const std::int64_t cells : std::get<std::vector<std::int64_t>>(large.column("cells").values))
    EXPECT_GE(cells, 15);
}

TEST_F(HaloCatalogue, OfSetsBelowHasTheVoids) {
  const mesh::Result voids =
      halo_catalogue(world_, tree_of(Sets::below), about(), {parse_threshold("0.05"), parse_threshold("0.02")});

  if (world_.rank() != 0) return;
  Grid negative = grid_;
  for (double& value : negative.values) value = -value;
  const auto expected = test::FloodFill(negative, -0.05, 14, periodic).halos(-0.02);
  const auto& peaks = std::get<std::vector<double>>(voids.column("peak").values);
  const auto& masses = std::get<std::vector<double>>(voids.column("mass").values);
  ASSERT_GT(expected.size(), 3u);
  ASSERT_EQ(ids(voids).size(), expected.size());
  for (std::size_t v = 0; v < expected.size(); ++v) {
    const auto& group = expected.at(ids(voids)[v]);
    EXPECT_EQ(peaks[v], -group.height);
    EXPECT_NEAR(masses[v], -group.sum, -1e-12 * group.sum);
  }
}

TEST_F(HaloCatalogue, OfThresholdsInTheWrongOrderIsAnError) {
  const MergeTree above = tree_of(Sets::above), below = tree_of(Sets::below);

  EXPECT_THROW(halo_catalogue(world_, above, about(), {parse_threshold("40"), parse_threshold("20")}), core::Error);
  EXPECT_THROW(halo_catalogue(world_, below, about(), {parse_threshold("0.02"), parse_threshold("0.05")}), core::Error);
}

TEST_F(HaloCatalogue, OfAResultThatIsNoTreeIsAnErrorOnAllRanks) {
  mesh::Result other;
  other.attributes["field"] = std::string("density");

  EXPECT_THROW(tree_field(world_, other), core::Error);
}

}  // namespace
}  // namespace sidestream::analysis
