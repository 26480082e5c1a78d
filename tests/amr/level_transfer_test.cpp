#include "sidestream/amr/level_transfer.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "sidestream/core/for_each.hpp"
#include "support/forests.hpp"
#include "support/world.hpp"

namespace sidestream::amr {
namespace {

using mesh::Field;
using mesh::Hierarchy;
using mesh::Int3;
using test::world;

Hierarchy hierarchy_of(const mesh::Forest& forest, int ranks) {
  return {forest, {mesh::domain_of(forest.cells()), {1.0, 1.0, 1.0}, forest.periodic()}, ranks};
}

template <typename F>
void fill(Field<double>& field, const mesh::Geometry& geometry, F value) {
  for (int b = 0; b < field.blocks(); ++b) {
    const auto to = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      const Int3 cell{i, j, k};
      std::array<double, 3> x{};
      for (int axis = 0; axis < 3; ++axis)
        x[static_cast<std::size_t>(axis)] = (cell[axis] + 0.5) * geometry.cell_size(axis);
      for (int c = 0; c < field.components(); ++c) to(c, k, j, i) = value(x, c);
    });
  }
}

double linear(const std::array<double, 3>& x, int c) {
  return 1.0 + c + 2.0 * x[0] - 3.0 * x[1] + 0.5 * x[2];
}

class LevelTransferTest : public testing::TestWithParam<Int3> {
 protected:
  // Fields with NaN in all ghost cells, of a linear function.
  std::vector<Field<double>> linear_fields(const Hierarchy& hierarchy, std::int32_t ghost) const {
    std::vector<Field<double>> fields;
    for (int level = 0; level <= hierarchy.finest_level(); ++level) {
      fields.emplace_back(hierarchy.layout(level), world().rank(), 2, ghost);
      std::ranges::fill(fields.back().all(), std::numeric_limits<double>::quiet_NaN());
      fill(fields.back(), hierarchy.geometry(level), linear);
    }
    return fields;
  }
};

TEST_P(LevelTransferTest, GhostCellsFromBothLevelsHoldALinearFunction) {
  const auto forest = test::random_forest(GetParam(), 4, {false, false, false}, 3, 11);
  const Hierarchy hierarchy = hierarchy_of(forest, world().size());
  for (const std::int32_t ghost : {1, 2, 4}) {
    auto fields = linear_fields(hierarchy, ghost);
    for (int level = 1; level <= hierarchy.finest_level(); ++level) {
      auto& fine = fields[static_cast<std::size_t>(level)];
      const LevelTransfer transfer(world(), hierarchy, level - 1, ghost);
      redistribute::GhostFill(world(), hierarchy.layout(level), ghost).fill(fine);
      // Beyond the domain the function goes on, so that slopes at the boundary are right.
      const auto outside = [](Field<double>& outlines, const mesh::Geometry& geometry) {
        for (int b = 0; b < outlines.blocks(); ++b)
          core::for_each_cell(outlines.box(b).grown(outlines.ghosts().layers), [&](int k, int j, int i) {
            if (geometry.domain.contains(Int3{i, j, k})) return;
            const std::array<double, 3> x{(i + 0.5) * geometry.cell_size(0), (j + 0.5) * geometry.cell_size(1),
                                          (k + 0.5) * geometry.cell_size(2)};
            for (int c = 0; c < 2; ++c) outlines.view(b)(c, k, j, i) = linear(x, c);
          });
      };
      transfer.fill_ghosts(fields[static_cast<std::size_t>(level - 1)], fine, interpolate_limited, outside);
      const mesh::Geometry& geometry = hierarchy.geometry(level);
      Int3 reach;
      for (int axis = 0; axis < 3; ++axis) reach[axis] = GetParam()[axis] > 1 ? ghost : 0;
      for (int b = 0; b < fine.blocks(); ++b)
        core::for_each_cell(intersection(fine.box(b).grown(reach), geometry.domain), [&](int k, int j, int i) {
          const std::array<double, 3> x{(i + 0.5) * geometry.cell_size(0), (j + 0.5) * geometry.cell_size(1),
                                        (k + 0.5) * geometry.cell_size(2)};
          ASSERT_NEAR(fine.view(b)(1, k, j, i), linear(x, 1), 1e-13);
        });
    }
  }
}

TEST_P(LevelTransferTest, AveragesReplaceWhatIsCoveredAndNothingElse) {
  const auto forest = test::random_forest(GetParam(), 4, {true, true, true}, 2, 5);
  const Hierarchy hierarchy = hierarchy_of(forest, world().size());
  auto fields = linear_fields(hierarchy, 0);
  for (int level = hierarchy.finest_level(); level-- > 0;) {
    auto& coarse = fields[static_cast<std::size_t>(level)];
    fill(coarse, hierarchy.geometry(level), [](const auto&, int) { return -7.0; });
    LevelTransfer(world(), hierarchy, level, 1).average_down(fields[static_cast<std::size_t>(level + 1)], coarse);
    const auto own = hierarchy.layout(level).boxes_of(world().rank());
    for (int b = 0; b < coarse.blocks(); ++b) {
      const bool is_leaf = hierarchy.is_leaf(level, own[static_cast<std::size_t>(b)]);
      core::for_each_cell(coarse.box(b), [&](int k, int j, int i) {
        const auto& geometry = hierarchy.geometry(level);
        const std::array<double, 3> x{(i + 0.5) * geometry.cell_size(0), (j + 0.5) * geometry.cell_size(1),
                                      (k + 0.5) * geometry.cell_size(2)};
        ASSERT_NEAR(coarse.view(b)(0, k, j, i), is_leaf ? -7.0 : linear(x, 0), 1e-13);
      });
    }
    fill(coarse, hierarchy.geometry(level), linear);
  }
}

TEST_P(LevelTransferTest, BetweenTwoTimesTheCoarseDataAreInterpolatedLinearly) {
  const auto forest = test::random_forest(GetParam(), 4, {true, true, true}, 1, 3);
  const Hierarchy hierarchy = hierarchy_of(forest, world().size());
  auto older = linear_fields(hierarchy, 1), newer = linear_fields(hierarchy, 1);
  fill(older[0], hierarchy.geometry(0), [](const auto&, int) { return 2.0; });
  fill(newer[0], hierarchy.geometry(0), [](const auto&, int) { return 6.0; });
  const LevelTransfer transfer(world(), hierarchy, 0, 1);
  transfer.fill_ghosts({older[0]}, {newer[0]}, 0.25, newer[1], inject);
  std::int64_t filled = 0;
  for (const double value : newer[1].all()) filled += value == 3.0 ? 1 : 0;
  EXPECT_GT(world().sum(filled), 0);
}

// The sum over leaves of a field, in units of level-0 cells, without rounding.
double total(const Hierarchy& hierarchy, const std::vector<Field<double>>& fields, int component) {
  core::ExactSum sum;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const auto& field = fields[static_cast<std::size_t>(level)];
    const auto own = hierarchy.layout(level).boxes_of(world().rank());
    const double volume = 1.0 / static_cast<double>(hierarchy.geometry(level).domain.volume());
    for (int b = 0; b < field.blocks(); ++b)
      if (hierarchy.is_leaf(level, own[static_cast<std::size_t>(b)]))
        core::for_each_cell(field.box(b),
                            [&](int k, int j, int i) { sum.add(volume * field.view(b)(component, k, j, i)); });
  }
  return world().sum(sum);
}

TEST_P(LevelTransferTest, AHundredRegridsConserveTotalsAndKeepAConstantToTheBit) {
  std::mt19937 random(17);
  auto hierarchy = hierarchy_of(mesh::Forest(GetParam(), 4), world().size());
  std::vector<Field<double>> fields;
  fields.emplace_back(hierarchy.layout(0), world().rank(), 2, 1);
  fill(fields[0], hierarchy.geometry(0), [](const std::array<double, 3>& x, int c) {
    return c == 0 ? 0.1 : 2.0 + std::sin(6.283 * x[0]) * std::cos(12.566 * x[1]);
  });
  const double before = total(hierarchy, fields, 1);
  for (int round = 0; round < 100; ++round) {
    const Hierarchy next = hierarchy_of(test::randomly_adapted(hierarchy.forest(), random, 2), world().size());
    for (int level = hierarchy.finest_level(); level-- > 0;)
      LevelTransfer(world(), hierarchy, level, 1)
          .average_down(fields[static_cast<std::size_t>(level + 1)], fields[static_cast<std::size_t>(level)]);
    fields = carried_over(world(), hierarchy, next, std::move(fields), interpolate_limited);
    hierarchy = next;
    for (const auto& field : fields)
      for (int b = 0; b < field.blocks(); ++b)
        core::for_each_cell(field.box(b), [&](int k, int j, int i) { ASSERT_EQ(field.view(b)(0, k, j, i), 0.1); });
  }
  EXPECT_NEAR(total(hierarchy, fields, 1), before, 1e-13 * before);
}

TEST_P(LevelTransferTest, RegriddingGivesTheSameBitsOnAnyNumberOfRanks) {
  const comm::Communicator alone(MPI_COMM_SELF);
  const auto carried = [&](const comm::Communicator& comm) {
    std::mt19937 random(23);
    mesh::Forest forest(GetParam(), 4);
    Hierarchy hierarchy = hierarchy_of(forest, comm.size());
    std::vector<Field<double>> fields;
    fields.emplace_back(hierarchy.layout(0), comm.rank(), 1, 1);
    fill(fields[0], hierarchy.geometry(0), [](const std::array<double, 3>& x, int) { return std::exp(x[0] - x[1]); });
    for (int round = 0; round < 5; ++round) {
      const Hierarchy next = hierarchy_of(test::randomly_adapted(hierarchy.forest(), random, 2), comm.size());
      fields = carried_over(comm, hierarchy, next, std::move(fields), interpolate_limited);
      hierarchy = next;
    }
    return std::pair(hierarchy, std::move(fields));
  };
  const auto [hierarchy, fields] = carried(world());
  const auto [serial, expected] = carried(alone);
  ASSERT_EQ(hierarchy.finest_level(), serial.finest_level());
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const auto& field = fields[static_cast<std::size_t>(level)];
    const auto own = hierarchy.layout(level).boxes_of(world().rank());
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&](int k, int j, int i) {
        ASSERT_EQ(field.view(b)(k, j, i),
                  expected[static_cast<std::size_t>(level)].view(own[static_cast<std::size_t>(b)])(k, j, i));
      });
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, LevelTransferTest, testing::Values(Int3{12, 8, 16}, Int3{16, 12, 1}));

}  // namespace
}  // namespace sidestream::amr
