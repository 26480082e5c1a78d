#include "sidestream/mesh/field_view.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/mesh/any_field.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "support/fields.hpp"

namespace sidestream::mesh {
namespace {

const Layout quarters = split(domain_of({8, 8, 4}), {2, 2, 1});

// Rank 1 of `quarters` owns one box, at x in [4, 8), y in [0, 4), z in [0, 4).
constexpr int rank = 1;

TEST(FieldView, OfAFieldIsTheFieldsMemory) {
  Field<double> field = test::field_of_global_index(quarters, rank, 2, 1);
  const FieldView<double> view(field);
  EXPECT_EQ(&view.view(0)(1, 2, 3, 5), &field.view(0)(1, 2, 3, 5));
  view.view(0)(0, 0, 0, 4) = -1.0;
  EXPECT_EQ(field.view(0)(0, 0, 0, 4), -1.0);
  EXPECT_EQ(view.ghost(), 1);
  EXPECT_EQ(view.components(), 2);
  EXPECT_EQ(FieldView<const double>(view).table(), view.table());
}

TEST(FieldView, OfAComponentAndOfSomeBlocksNeedsNoCopy) {
  const Layout blocks =
      Layout(domain_of({8, 4, 4}), {true, true, true}, {{{0, 0, 0}, {4, 4, 4}}, {{4, 0, 0}, {8, 4, 4}}}, {0, 0});
  const Layout second = Layout(blocks.domain(), {true, true, true}, {blocks.box(1)}, {0});
  const Field<double> field = test::field_of_global_index(blocks, 0, 3, 2);

  const auto part = FieldView<const double>(field).on(second).component(2);

  ASSERT_EQ(part.blocks(), 1);
  EXPECT_EQ(part.components(), 1);
  EXPECT_EQ(part.box(0), blocks.box(1));
  EXPECT_EQ(&part.view(0)(3, 2, 5), &field.view(1)(2, 3, 2, 5));
  EXPECT_EQ(&part.view_on(blocks.box(1))(0, 0, 4), &field.view(1)(2, 0, 0, 4));
  EXPECT_THROW(part.view_on(blocks.box(0)), core::Error);
  EXPECT_THROW(FieldView<const double>(field).on(second).on(blocks), core::Error);
  EXPECT_THROW(part.component(1), core::Error);
}

TEST(FieldView, MadeOfASharedFieldKeepsItAlive) {
  auto field = std::make_shared<const Field<double>>(test::field_of_global_index(quarters, rank));
  const std::weak_ptr<const Field<double>> watched = field;
  FieldView<const double> part = FieldView<const double>(field).component(0);
  field.reset();
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(part.view(0)(1, 1, 5), test::global_value<double>(quarters.domain(), {5, 1, 1}, 0));
  part = {};
  EXPECT_TRUE(watched.expired());
}

// Two components, interleaved plane by plane, in an array with gaps between rows.
TEST(FieldView, OfStridedMemoryFindsItsCells) {
  constexpr std::ptrdiff_t row = 7, component = 4 * row, plane = 2 * component;
  auto memory = std::make_shared<std::vector<float>>(4 * plane, -1.0F);
  const Box& box = quarters.box(rank);
  const core::View4<float> block(memory->data() - box.lo.x - box.lo.y * row - box.lo.z * plane, row, plane, component,
                                 2);
  const FieldView<float> view(quarters, rank, {&block, 1}, memory);
  core::for_each_cell(box, [to = view.view(0)](int k, int j, int i) {
    to(0, k, j, i) = static_cast<float>(100 * k + 10 * j + i);
    to(1, k, j, i) = 0.5F;
  });
  EXPECT_EQ((*memory)[2 * plane + 3 * row + 1], 235.0F);
  EXPECT_EQ((*memory)[2 * plane + component + 3 * row + 1], 0.5F);
  EXPECT_EQ((*memory)[4], -1.0F);
  EXPECT_THROW(FieldView<float>(quarters, rank, {}, memory), core::Error);
}

TEST(AnyField, GivesOnlyTheTypeItHas) {
  const Field<float> field(quarters, rank);
  const AnyField any = field;
  EXPECT_TRUE(any.holds<float>());
  EXPECT_EQ(any.as<float>().view(0).origin(), field.view(0).origin());
  EXPECT_THROW(any.as<double>(), core::Error);
}

TEST(Snapshot, GivesAViewOfDoublesWithoutACopyAndConvertsOthersOnce) {
  auto doubles = std::make_shared<const Field<double>>(test::field_of_global_index<double>(quarters, rank));
  auto floats = std::make_shared<const Field<float>>(test::field_of_global_index<float>(quarters, rank, 1, 2));
  Snapshot snapshot;
  snapshot.levels = {quarters};
  snapshot.rank = rank;
  snapshot.add({"double", "1"}, [&](int) { return doubles; });
  snapshot.add({"single", "1"}, [&](int) { return floats; });

  EXPECT_EQ(snapshot.field("double").table(), doubles->table());
  EXPECT_EQ(snapshot.field("single").table(), snapshot.field("single").table());
  for (const auto* const name : {"double", "single"})
    core::for_each_cell(quarters.box(rank), [view = snapshot.field(name).view(0)](int k, int j, int i) {
      ASSERT_EQ(view(k, j, i), test::global_value<double>(quarters.domain(), {i, j, k}, 0));
    });
}

TEST(Snapshot, DerivesFromDoublesWhereTheyLie) {
  auto doubles = std::make_shared<const Field<double>>(test::field_of_global_index<double>(quarters, rank, 1, 2));
  auto floats = std::make_shared<const Field<float>>(test::field_of_global_index<float>(quarters, rank));
  Snapshot snapshot;
  snapshot.levels = {quarters};
  snapshot.rank = rank;
  snapshot.add({"double", "1"}, [&](int) { return doubles; });
  snapshot.add({"single", "1"}, [&](int) { return floats; });
  const double* taken = nullptr;
  snapshot.add_derived({"both", "1"}, {"double", "single"}, [&](const Box& box, const auto& of, const auto& out) {
    taken = &of[0](box.lo.z, box.lo.y, box.lo.x);
    core::for_each_cell(box, [&](int k, int j, int i) { out(k, j, i) = of[0](k, j, i) + of[1](k, j, i); });
  });
  Field<double> into(quarters, rank);
  const Box& box = quarters.box(rank);

  snapshot.prepare("both");
  snapshot.write("both", 0, box, into.view(0));

  EXPECT_EQ(taken, &doubles->view(0)(box.lo.z, box.lo.y, box.lo.x));
  EXPECT_EQ(into.view(0)(3, 2, 7), 2.0 * test::global_value<double>(quarters.domain(), {7, 2, 3}, 0));
}

TEST(Snapshot, WritesAComputedFieldWhereItIsWantedAndKeepsNoCopy) {
  int calls = 0;
  Snapshot snapshot;
  snapshot.levels = {quarters};
  snapshot.rank = rank;
  snapshot.add_computed({"sum", "1"}, [&](int, const Box& box, const core::View4<double>& out) {
    ++calls;
    core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = k + j + i; });
  });
  Field<double> into(quarters, rank);
  const Box& box = quarters.box(rank);

  snapshot.prepare("sum");
  EXPECT_EQ(calls, 0);
  snapshot.write("sum", 0, box, into.view(0));
  snapshot.write("sum", 0, box, into.view(0));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(into.view(0)(3, 2, 7), 12.0);
  EXPECT_EQ(snapshot.field("sum").view(0)(3, 2, 7), 12.0);
  snapshot.field("sum");
  snapshot.write("sum", 0, box, into.view(0));
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace sidestream::mesh
