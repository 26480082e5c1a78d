#include <gtest/gtest.h>

#include "redistribute/layouts.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "support/fields.hpp"

namespace sidestream::redistribute {
namespace {

using mesh::Box;
using mesh::domain_of;
using mesh::Field;
using mesh::Int3;
using mesh::Layout;
using mesh::Periodicity;
using test::all_ranks;
using test::all_strategies;
using test::dealt;
using test::field_of_global_index;
using test::random_layout;
using test::world;

constexpr double untouched = -7.0;

// Ghost cells that do not hold the value of the cell they are an image of; those outside a wall or beyond what the
// layout covers must be untouched.
int wrong_ghosts(const Field<double>& field) {
  const Layout& layout = field.layout();
  const Int3 cells = layout.domain().extent();
  int wrong = 0;
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b).grown(field.ghosts().layers), [&, view = field.view(b)](int k, int j, int i) {
      Int3 cell{i, j, k};
      for (int axis = 0; axis < 3; ++axis)
        if (layout.periodic()[static_cast<std::size_t>(axis)]) cell[axis] = mesh::wrapped(cell[axis], cells[axis]);
      const bool is_covered = layout.find(cell) >= 0;
      for (int c = 0; c < field.components(); ++c) {
        const double expected = static_cast<double>(8 * linear_index(layout.domain(), cell) + c);
        wrong += view(c, k, j, i) != (is_covered ? expected : untouched);
      }
    });
  return wrong;
}

Field<double> with_untouched_ghosts(const Layout& layout, int components, mesh::Ghosts ghost) {
  auto field = field_of_global_index(layout, world().rank(), components, ghost);
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b).grown(ghost.layers), [&, view = field.view(b)](int k, int j, int i) {
      if (field.box(b).contains(Int3{i, j, k})) return;
      for (int c = 0; c < components; ++c) view(c, k, j, i) = untouched;
    });
  return field;
}

int wrong_after_fill(const Layout& layout, mesh::Ghosts ghost, Strategy strategy, int components = 2) {
  const GhostFill plan(world(), layout, ghost, strategy);
  auto field = with_untouched_ghosts(layout, components, ghost);
  plan.fill(field);
  return wrong_ghosts(field);
}

class Ghosts : public testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Strategies, Ghosts, testing::ValuesIn(all_strategies), test::name_of);

TEST_P(Ghosts, AreFilledAcrossPeriodicBoundaries) {
  EXPECT_EQ(wrong_after_fill(dealt(split(domain_of({12, 12, 12}), {3, 3, 3})), 4, GetParam()), 0);
}

TEST_P(Ghosts, OfRandomBoxesAreFilled) {
  for (unsigned seed = 1; seed <= 3; ++seed)
    EXPECT_EQ(wrong_after_fill(random_layout(domain_of({9, 10, 11}), 25, all_ranks(), seed), 2, GetParam()), 0);
}

TEST_P(Ghosts, MayBeWiderThanABox) {
  EXPECT_EQ(wrong_after_fill(dealt(split(domain_of({8, 8, 8}), {4, 8, 2})), 3, GetParam()), 0);
}

TEST_P(Ghosts, MayBeFewerAlongSomeAxes) {
  for (const Int3 layers : {Int3{2, 3, 0}, Int3{0, 0, 4}, Int3{1, 0, 2}})
    for (unsigned seed = 1; seed <= 2; ++seed) {
      EXPECT_EQ(wrong_after_fill(random_layout(domain_of({9, 10, 11}), 25, all_ranks(), seed), mesh::Ghosts(layers),
                                 GetParam()),
                0);
      EXPECT_EQ(wrong_after_fill(dealt(split(domain_of({12, 9, 1}), {3, 3, 1})), mesh::Ghosts(layers), GetParam()), 0);
    }
}

TEST_P(Ghosts, OfOneBlockWrapOntoItself) {
  EXPECT_EQ(wrong_after_fill(split(domain_of({5, 6, 7}), {1, 1, 1}), 3, GetParam()), 0);
}

TEST_P(Ghosts, MayBeWiderThanAFlatAxis) {
  EXPECT_EQ(wrong_after_fill(dealt(split(domain_of({8, 8, 1}), {2, 2, 1})), 4, GetParam()), 0);
}

TEST_P(Ghosts, BeyondWallsAreLeftAlone) {
  EXPECT_EQ(wrong_after_fill(dealt(split(domain_of({8, 6, 4}), {4, 2, 1}, {false, true, false})), 2, GetParam()), 0);
  EXPECT_EQ(wrong_after_fill(dealt(split(domain_of({8, 6, 4}), {4, 2, 1}, {false, false, false})), 2, GetParam()), 0);
}

TEST_P(Ghosts, OfADomainPartlyCoveredAreFilledWhereSomebodyOwnsThem) {
  const auto part = random_layout(domain_of({10, 9, 8}), 40, all_ranks(), 11, {true, true, true}, 0.6);

  EXPECT_EQ(wrong_after_fill(part, 2, GetParam()), 0);
}

TEST_P(Ghosts, AreFilledInAFieldThatHasMoreOfThem) {
  const auto layout = dealt(split(domain_of({8, 8, 8}), {2, 2, 2}));
  const GhostFill plan(world(), layout, 1, GetParam());
  auto narrow = with_untouched_ghosts(layout, 1, 1), wide = with_untouched_ghosts(layout, 1, 3);

  plan.fill(narrow);
  plan.fill(wide);

  int differing = 0;
  for (int b = 0; b < narrow.blocks(); ++b)
    core::for_each_cell(narrow.box(b).grown(1),
                        [&](int k, int j, int i) { differing += narrow.view(b)(k, j, i) != wide.view(b)(k, j, i); });
  EXPECT_EQ(differing, 0);
}

TEST_P(Ghosts, MayBeFilledWhileTheInteriorIsRead) {
  const auto layout = dealt(split(domain_of({12, 8, 8}), {3, 2, 2}));
  const GhostFill plan(world(), layout, 2, GetParam());
  auto field = with_untouched_ghosts(layout, 3, 2);

  plan.start(field);
  const int wrong_inside = test::cells_that_differ(field);
  plan.finish(field);

  EXPECT_EQ(wrong_inside, 0);
  EXPECT_EQ(wrong_ghosts(field), 0);
}

TEST_P(Ghosts, CanBeFilledManyTimes) {
  const auto layout = dealt(split(domain_of({8, 8, 8}), {2, 2, 2}));
  const GhostFill plan(world(), layout, 2, GetParam());
  auto field = with_untouched_ghosts(layout, 1, 2);

  for (int round = 0; round < 50; ++round) {
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) { view(k, j, i) += 1.0; });
    plan.fill(field);
  }

  for (double& value : field.all()) value -= 50.0;
  EXPECT_EQ(wrong_ghosts(field), 0);
}

// Every block deposits `unit` in each cell it reaches; a cell then holds as many as there are images of grown boxes
// that contain it.
template <typename T>
int wrong_multiplicities(const Layout& layout, std::int32_t ghost, Strategy strategy, T unit) {
  const GhostFold plan(world(), layout, ghost, strategy);
  Field<T> field(layout, world().rank(), 1, ghost);
  std::fill(field.all().begin(), field.all().end(), unit);
  plan.fold(field);

  int wrong = 0;
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      int images = 0;
      layout.for_each_image_meeting(Box{{i, j, k}, {i + 1, j + 1, k + 1}}.grown(ghost), [&](auto, Int3) { ++images; });
      wrong += field.view(b)(k, j, i) != static_cast<T>(images) * unit;
    });
  return wrong;
}

TEST_P(Ghosts, FoldToTheNumberOfBoxesThatReachACell) {
  const auto blocks = dealt(split(domain_of({8, 8, 8}), {2, 2, 4}));
  const auto uneven = random_layout(domain_of({9, 8, 7}), 15, all_ranks(), 2, {true, false, true});

  EXPECT_EQ(wrong_multiplicities<std::int64_t>(blocks, 1, GetParam(), 1), 0);
  EXPECT_EQ(wrong_multiplicities<double>(blocks, 3, GetParam(), 1.0), 0);
  EXPECT_EQ(wrong_multiplicities<std::int64_t>(uneven, 2, GetParam(), 1), 0);
  EXPECT_EQ(wrong_multiplicities<std::int64_t>(split(domain_of({4, 4, 1}), {1, 1, 1}), 2, GetParam(), 1), 0);
}

TEST_P(Ghosts, FoldIntegersThatNoDoubleHolds) {
  const auto layout = dealt(split(domain_of({8, 8, 8}), {2, 2, 2}));

  EXPECT_EQ(wrong_multiplicities<std::int64_t>(layout, 1, GetParam(), (std::int64_t{1} << 53) + 1), 0);
}

}  // namespace
}  // namespace sidestream::redistribute
