#include "sidestream/mesh/field.hpp"

#include <gtest/gtest.h>

#include "sidestream/mesh/particles.hpp"
#include "sidestream/mesh/result.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "support/fields.hpp"

namespace sidestream::mesh {
namespace {

const Layout two_boxes = split(domain_of({8, 4, 4}), {2, 1, 1});

TEST(Field, HoldsOnlyTheBoxesOfItsRankWithGhostCells) {
  const Field<double> field(two_boxes, 1, 3, 2);
  EXPECT_EQ(field.blocks(), 1);
  EXPECT_EQ(field.box(0), two_boxes.box(1));
  EXPECT_EQ(field.block(0).size(), 3u * 8 * 8 * 8);
}

TEST(Field, MayHaveFewerGhostCellsAlongSomeAxes) {
  const Layout flat = split(domain_of({8, 4, 1}), {2, 1, 1});
  Field<double> field(flat, 1, 3, ghosts_of_active_axes(flat.domain(), 2));
  EXPECT_EQ(field.ghost(), 2);
  EXPECT_EQ(field.ghosts().layers, (Int3{2, 2, 0}));
  EXPECT_EQ(field.block(0).size(), 3u * 8 * 8 * 1);
  field.view(0)(2, 0, -2, 2) = 5.0;  // the first cell of the last component
  EXPECT_EQ(field.block(0)[2 * 64], 5.0);
}

TEST(Field, TakesTheMemoryOfASpareThatFits) {
  Field<double> spare(two_boxes, 0, 3, 1);
  const double* const memory = spare.all().data();
  const Field<double> smaller(two_boxes, 0, 2, 1, std::move(spare));
  EXPECT_EQ(smaller.all().data(), memory);
  EXPECT_EQ(smaller.all().size(), 2u * 6 * 6 * 6);
  EXPECT_EQ(spare.capacity(), 0u);
}

TEST(Field, LeavesASpareThatIsTooSmallOrFarTooLarge) {
  for (const int components : {1, 9}) {
    Field<double> spare(two_boxes, 0, components, 0);
    const Field<double> field(two_boxes, 0, 3, 0, std::move(spare));
    EXPECT_NE(field.all().data(), spare.all().data());
    EXPECT_EQ(spare.components(), components);
  }
}

TEST(Field, OfARankWithoutBoxesIsEmpty) {
  const Field<float> field(two_boxes, 7);
  EXPECT_EQ(field.blocks(), 0);
  EXPECT_TRUE(field.all().empty());
}

TEST(Field, IsAnArrayOfComponentZYXWithXFastest) {
  Field<double> field(two_boxes, 0, 2, 1);
  field.view(0)(1, 2, 3, 0) = 5.0;
  // Component 1 of 6^3 cells with ghosts; cell z = 2, y = 3, x = 0 lies at (3, 4, 1) behind the ghost cells.
  EXPECT_EQ(field.block(0)[6 * 6 * 6 + (3 * 6 + 4) * 6 + 1], 5.0);
}

TEST(Field, OfGlobalIndexIsRecognised) {
  auto field = test::field_of_global_index(two_boxes, 1, 2);
  EXPECT_EQ(test::cells_that_differ(field), 0);
  field.view(0)(1, 3, 3, 7) += 1.0;
  EXPECT_EQ(test::cells_that_differ(field), 1);
}

TEST(Snapshot, ComputesAFieldOnceAndOnlyWhenAsked) {
  int calls = 0;
  Snapshot snapshot;
  snapshot.levels = {two_boxes};
  snapshot.add("temperature", "K", [&](int) {
    ++calls;
    return std::make_shared<const Field<double>>(two_boxes, 0);
  });
  EXPECT_TRUE(snapshot.has("temperature"));
  EXPECT_EQ(calls, 0);
  snapshot.field("temperature");
  snapshot.field("temperature");
  EXPECT_EQ(calls, 1);
}

TEST(Snapshot, NamesWhatItHasWhenAskedForSomethingElse) {
  Snapshot snapshot;
  snapshot.levels = {two_boxes};
  snapshot.add("gas_density", "Msun/Mpc^3", Field<double>(two_boxes, 0));
  try {
    snapshot.field("density");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_NE(error.hint().find("gas_density"), std::string::npos);
  }
}

TEST(Particles, CheckFindsArraysOfUnequalLength) {
  Particles particles;
  particles.attributes.push_back({"vx", "km/s", {}});
  particles.resize(3);
  check(particles);
  particles.position[1].pop_back();
  EXPECT_THROW(check(particles), core::Error);
}

TEST(Result, RefusesColumnsThatDisagreeAboutADimension) {
  Result result;
  result.add("x", "Mpc", "position", {"halo"}, {2}, std::vector<double>{1, 2});
  EXPECT_THROW(result.add("y", "Mpc", "position", {"halo"}, {3}, std::vector<double>{1, 2, 3}), core::Error);
  EXPECT_THROW(result.add("z", "Mpc", "position", {"halo"}, {2}, std::vector<double>{1}), core::Error);
}

}  // namespace
}  // namespace sidestream::mesh
