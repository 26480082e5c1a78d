#include "sidestream/mesh/field.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Field, IsMadeInMemoryOfAnother) {
  std::vector<double> memory(2 * 6 * 6 * 6 + 1, 3.0);
  const auto bytes = std::as_writable_bytes(std::span(memory));
  ASSERT_EQ(Field<double>::size_bytes(two_boxes, 0, 2, 1), 2u * 6 * 6 * 6 * sizeof(double));

  Field<double> field(two_boxes, 0, 2, 1, bytes);
  field.view(0)(1, 4, 4, 4) = 5.0;  // the last cell

  EXPECT_EQ(field.all().data(), memory.data());
  EXPECT_EQ(memory[2 * 6 * 6 * 6 - 1], 5.0);
  EXPECT_EQ(field.view(0)(0, 0, 0, 0), 3.0);
  EXPECT_THROW(Field<double>(two_boxes, 0, 3, 1, bytes), core::Error);
}

// Rank 0's blocks of 4^3 of a row of eight, from bit 0 on.
Layout blocks_of_a_row(unsigned owned) {
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t b = 0; b < 8; ++b) {
    boxes.push_back({{4 * b, 0, 0}, {4 * b + 4, 4, 4}});
    owners.push_back((owned >> b & 1u) != 0 ? 0 : 1);
  }
  return {domain_of({32, 4, 4}), {true, true, true}, boxes, owners};
}

TEST(Field, GoesOverToAnotherLayoutWithoutMovingBlocksThatItKeeps) {
  Field<double> before(blocks_of_a_row(0b00001111), 0, 2, 1);
  for (int b = 0; b < before.blocks(); ++b) std::ranges::fill(before.block(b), before.box(b).lo.x);
  const double* const first = before.block(0).data();
  const double* const last = before.block(3).data();

  Field<double> field(blocks_of_a_row(0b01101001), std::move(before));

  ASSERT_EQ(field.blocks(), 4);
  EXPECT_EQ(field.block(0).data(), first);  // 0 and 3 stay, 5 and 6 come
  EXPECT_EQ(field.block(1).data(), last);
  for (int b = 0; b < 2; ++b)
    for (const double value : field.block(b)) ASSERT_EQ(value, field.box(b).lo.x);
  std::ranges::fill(field.block(2), -1.0);
  std::ranges::fill(field.block(3), -2.0);
  EXPECT_EQ(field.block(0)[17], 0.0);
  EXPECT_EQ(field.block(1)[17], 12.0);
  EXPECT_EQ(before.blocks(), 0);
}

TEST(Field, GrowsAndShrinksWithItsLayoutAndKeepsItsCells) {
  Field<double> field(blocks_of_a_row(0b00010000), 0, 1, 1);
  const auto value_of = [](const Box& box) { return 100.0 + box.lo.x; };
  std::ranges::fill(field.block(0), value_of(field.box(0)));
  unsigned owned = 0b00010000;
  for (const unsigned next : {0b00110000u, 0b11111111u, 0u, 0u, 0b11111110u, 0b00010010u, 0b00010001u, 0b01010001u}) {
    field = Field<double>(blocks_of_a_row(next), std::move(field));
    std::vector<const double*> places;
    for (int b = 0; b < field.blocks(); ++b) {
      const bool is_kept = (owned >> (field.box(b).lo.x / 4) & 1u) != 0;
      for (const double value : field.block(b)) ASSERT_TRUE(!is_kept || value == value_of(field.box(b)));
      std::ranges::fill(field.block(b), value_of(field.box(b)));
      places.push_back(field.block(b).data());
      ASSERT_LE(field.block(b).data() + field.block(b).size(), field.all().data() + field.all().size());
    }
    std::ranges::sort(places);
    EXPECT_EQ(std::ranges::adjacent_find(places), places.end());
    owned = next;
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
  snapshot.add({"temperature", "K"}, [&](int) {
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
  snapshot.add({"gas_density", "Msun/Mpc^3"}, Field<double>(two_boxes, 0));
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
