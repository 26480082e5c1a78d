#include "sidestream/amr/adaptation.hpp"

#include <gtest/gtest.h>

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/field.hpp"
#include "support/world.hpp"

namespace sidestream::amr {
namespace {

using mesh::Forest;
using mesh::Hierarchy;
using mesh::Int3;
using test::world;

/// 1 but for the 4^3 cells of level 0 from (12, 12, 12) on, of which those of all levels have ten.
double with_a_lump(Int3 cell, int level) {
  const auto is_inside = [level](std::int32_t i) { return i >> level >= 12 && i >> level < 16; };
  return is_inside(cell.x) && is_inside(cell.y) && is_inside(cell.z) ? 10.0 : 1.0;
}

std::vector<std::vector<Tags>> tags_of(const Hierarchy& hierarchy, const Criterion& criterion) {
  std::vector<std::vector<Tags>> tags;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    mesh::Field<double> field(hierarchy.layout(level), world().rank());
    auto& of_level = tags.emplace_back();
    for (int b = 0; b < field.blocks(); ++b) {
      const auto view = field.view(b);
      core::for_each_cell(field.box(b), [&](int k, int j, int i) { view(k, j, i) = with_a_lump({i, j, k}, level); });
      BlockData block;
      block.cells = field.box(b);
      block.level = level;
      block.geometry = hierarchy.geometry(level);
      block.fields["u"] = view;
      of_level.push_back(judged(criterion, block));
    }
  }
  return tags;
}

// Cells of level 0 that ask for level 1 ask for no more there, where a cell's limit is eight times as high.
TEST(Adapted, KeepsTheBufferOfCellsThatAreSmallEnough) {
  const Criterion mass = threshold({"u"}, {8.0, 4.0}, 8.0);
  Forest forest({32, 32, 32}, 8, {true, true, true});
  std::vector<Forest> after;

  for (int round = 0; round < 3; ++round) {
    const Hierarchy hierarchy(forest, {mesh::domain_of(forest.cells()), {1.0, 1.0, 1.0}, forest.periodic()},
                              world().size());
    forest = adapted(world(), hierarchy, tags_of(hierarchy, mass), {0, 1, 3});
    after.push_back(forest);
  }

  EXPECT_EQ(after[0].size(1), 8 * 8);  // the lump's block and those that the lump is next to
  EXPECT_EQ(after[1], after[0]);
  EXPECT_EQ(after[2], after[0]);
}

}  // namespace
}  // namespace sidestream::amr
