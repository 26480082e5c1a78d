#include "sidestream/redistribute/pipeline.hpp"

#include <gtest/gtest.h>

#include "redistribute/layouts.hpp"
#include "sidestream/core/error.hpp"
#include "support/fields.hpp"

namespace sidestream::redistribute {
namespace {

using mesh::Box;
using mesh::domain_of;
using mesh::Field;
using mesh::Int3;
using test::all_strategies;
using test::world;

class PipelineOf : public testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Strategies, PipelineOf, testing::ValuesIn(all_strategies), test::name_of);

// Calls f(view, cell) for each cell of the rank in a slice.
template <typename F>
void for_each_cell_in(Field<double>& field, const Box& slice, F f) {
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(intersection(field.box(b), slice), [&, view = field.view(b)](int k, int j, int i) {
      for (int c = 0; c < field.components(); ++c) f(view(c, k, j, i), Int3{i, j, k}, c);
    });
}

// The lines of a transform: cells are made just before they leave, and taken when they have come.
TEST_P(PipelineOf, BringsEachSliceWhileTheNextIsMade) {
  const Box domain = domain_of({16, 12, 9});
  const auto x = split(domain, {1, world().size(), 1}), y = split(domain, {world().size(), 1, 1});
  const Pipeline pipeline(world(), x, y, 2, 4, GetParam());
  Field<double> from(x, world().rank(), 2), to(y, world().rank(), 2);
  std::int64_t wrong = 0, seen = 0;

  for (int round = 0; round < 2; ++round)
    pipeline.apply(
        from, to,
        [&](const Box& slice) {
          pipeline.progress();
          for_each_cell_in(from, slice, [&](double& value, Int3 cell, int c) {
            value = test::global_value<double>(domain, cell, c) + round;
          });
        },
        [&](const Box& slice) {
          for_each_cell_in(to, slice, [&](double& value, Int3 cell, int c) {
            wrong += value != test::global_value<double>(domain, cell, c) + round;
            ++seen;
          });
        });

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(world().sum(seen), 2 * 2 * domain.volume());
}

TEST(Pipeline, HasNoMoreSlicesThanCells) {
  const auto layout = split(domain_of({8, 8, 3}), {world().size(), 1, 1});

  const Pipeline pipeline(world(), layout, layout, 2, 100);

  EXPECT_EQ(pipeline.slices(), 3);
  EXPECT_EQ(pipeline.slice(2), (Box{{0, 0, 2}, {8, 8, 3}}));
  EXPECT_THROW(Pipeline(world(), layout, layout, 2, 0), core::Error);
}

}  // namespace
}  // namespace sidestream::redistribute
