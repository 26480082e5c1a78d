#include "sims/gas/gas_edit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "solvers/refined_mesh.hpp"

namespace sidestream::sims {
namespace {

using mesh::Field;

class GasEditTest : public testing::Test {
 protected:
  GasEditTest() {
    std::vector<Field<double>> state;
    state.emplace_back(hierarchy_.layout(0), world_.rank(), solvers::gas_components,
                       solvers::hydro_ghosts(hierarchy_.geometry(0).domain));
    for (int b = 0; b < state[0].blocks(); ++b)
      core::for_each_cell(state[0].box(b), [gas = state[0].view(b)](int k, int j, int i) {
        for (int c = 0; c < solvers::gas_components; ++c) gas(c, k, j, i) = 0.0;
        gas(solvers::density, k, j, i) = 2.0;
        gas(solvers::internal_energy, k, j, i) = gas(solvers::total_energy, k, j, i) = 3.0;
      });
    gas_.emplace(world_, solvers::HydroConfig{}, hierarchy_, std::move(state));
  }
  /// Of a component, over cells where `expected` does not give what is there.
  template <typename F>
  std::int64_t cells_that_differ(int component, F expected) {
    std::int64_t differ = 0;
    const Field<double>& state = gas_->state(0);
    for (int b = 0; b < state.blocks(); ++b)
      core::for_each_cell(state.box(b), [&, gas = state.view(b)](int k, int j, int i) {
        differ += gas(component, k, j, i) != expected(mesh::Int3{i, j, k});
      });
    return world_.sum(differ);
  }

  comm::Communicator world_{MPI_COMM_WORLD};
  mesh::Geometry geometry_{mesh::domain_of({16, 16, 16}), {1.0, 1.0, 1.0}, {true, true, true}};
  mesh::Hierarchy hierarchy_{mesh::Forest({16, 16, 16}, 8, {true, true, true}), geometry_, world_.size()};
  std::optional<solvers::RefinedGas> gas_;
  const mesh::Box box_{{2, 3, 4}, {12, 13, 14}};
  const GasUnits units_;
};

TEST_F(GasEditTest, ADensityTakesItsEnergyAlong) {
  const std::int64_t cells =
      edit_gas(world_, {"gas_density", box_, &couple::edit_operations().named("multiply"), 4.0}, units_, *gas_);

  EXPECT_EQ(cells, 1000);
  EXPECT_EQ(cells_that_differ(solvers::density, [&](mesh::Int3 cell) { return box_.contains(cell) ? 8.0 : 2.0; }), 0);
  EXPECT_EQ(cells_that_differ(solvers::total_energy, [&](mesh::Int3 cell) { return box_.contains(cell) ? 12.0 : 3.0; }),
            0);
}

// A reader's ranks have the planes of the box in turn, those of the run its blocks.
TEST_F(GasEditTest, AnArrayOfOtherLayoutReachesItsCells) {
  std::vector<mesh::Box> planes;
  std::vector<std::int32_t> owners;
  for (std::int32_t z = box_.lo.z; z < box_.hi.z; ++z) {
    planes.push_back({{box_.lo.x, box_.lo.y, z}, {box_.hi.x, box_.hi.y, z + 1}});
    owners.push_back(z % world_.size());
  }
  const auto value = [](mesh::Int3 cell) { return 1.0 + cell.x + 100.0 * cell.y + 10000.0 * cell.z; };
  auto array = std::make_shared<Field<double>>(mesh::Layout(geometry_.domain, geometry_.periodic, planes, owners),
                                               world_.rank());
  for (int b = 0; b < array->blocks(); ++b)
    core::for_each_cell(array->box(b), [&, to = array->view(b)](int k, int j, int i) {
      to(k, j, i) = value({i, j, k});
    });

  edit_gas(world_, {"gas_density", box_, &couple::edit_operations().named("set"), 0.0, "", {}, array}, units_, *gas_);

  EXPECT_EQ(
      cells_that_differ(solvers::density, [&](mesh::Int3 cell) { return box_.contains(cell) ? value(cell) : 2.0; }), 0);
}

TEST_F(GasEditTest, WhatAnArrayHasNoNumberForStaysAsItIs) {
  auto array = std::make_shared<Field<double>>(mesh::split(box_, {1, 1, 1}, {false, false, false}), world_.rank());
  for (int b = 0; b < array->blocks(); ++b)
    core::for_each_cell(array->box(b), [&, to = array->view(b)](int k, int j, int i) {
      to(k, j, i) = i % 2 == 0 ? 7.0 : std::nan("");
    });

  const std::int64_t cells = edit_gas(
      world_, {"gas_density", box_, &couple::edit_operations().named("set"), 0.0, "", {}, array}, units_, *gas_);

  EXPECT_EQ(cells, 500);
  EXPECT_EQ(cells_that_differ(solvers::density,
                              [&](mesh::Int3 cell) { return box_.contains(cell) && cell.x % 2 == 0 ? 7.0 : 2.0; }),
            0);
}

TEST_F(GasEditTest, OnlyCellsWhereItHoldsAreEdited) {
  const auto holds = std::make_shared<std::vector<Field<double>>>();
  Field<double>& level = holds->emplace_back(hierarchy_.leaf_layout(0), world_.rank());
  for (int b = 0; b < level.blocks(); ++b)
    core::for_each_cell(level.box(b),
                        [&, to = level.view(b)](int k, int j, int i) { to(k, j, i) = j > 5 ? 1.0 : 0.0; });

  couple::RegionEdit edit{"pressure", box_, &couple::edit_operations().named("multiply"), 2.0};
  edit.holds = holds;
  const double factor = units_.gamma - 1.0, twice = factor * 3.0 * 2.0 / factor;
  EXPECT_EQ(edit_gas(world_, edit, units_, *gas_), 700);
  EXPECT_EQ(cells_that_differ(solvers::internal_energy,
                              [&](mesh::Int3 cell) { return box_.contains(cell) && cell.y > 5 ? twice : 3.0; }),
            0);
}

TEST_F(GasEditTest, ValuesAreInTheUnitsOfTheQuantities) {
  const GasUnits units{.velocity = 10.0};
  edit_gas(world_, {"pressure", box_, &couple::edit_operations().named("add"), 100.0}, units, *gas_);

  // Of internal energy, (gamma - 1) 100 make a pressure of 1.
  EXPECT_EQ(cells_that_differ(solvers::internal_energy,
                              [&](mesh::Int3 cell) {
                                const double factor = (units.gamma - 1.0) * 100.0;
                                return box_.contains(cell) ? (factor * 3.0 + 100.0) / factor : 3.0;
                              }),
            0);
}

// Of the root's 16^3 cells the blocks in one corner are refined twice.
TEST(RefinedGasEdit, AnArrayCountsForAllFinerCellsInsideOfItsCells) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const mesh::Hierarchy hierarchy =
      test::RefinedBox{.is_periodic = false, .regions = {test::cube(0, 8), test::cube(0, 8)}}.hierarchy(world.size());
  std::vector<Field<double>> state;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    Field<double>& field = state.emplace_back(hierarchy.layout(level), world.rank(), solvers::gas_components,
                                              solvers::hydro_ghosts(hierarchy.geometry(level).domain));
    std::ranges::fill(field.all(), 0.0);
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [gas = field.view(b)](int k, int j, int i) {
        for (const int c : {solvers::density, solvers::total_energy, solvers::internal_energy}) gas(c, k, j, i) = 1.0;
      });
  }
  solvers::RefinedGas gas(world, {}, hierarchy, std::move(state));
  const mesh::Box box{{1, 0, 0}, {11, 16, 16}};
  auto array =
      std::make_shared<Field<double>>(mesh::split(box, {1, 1, world.size()}, {false, false, false}), world.rank());
  const auto value = [](mesh::Int3 cell) { return 2.0 + cell.x + 16.0 * (cell.y + 16.0 * cell.z); };
  for (int b = 0; b < array->blocks(); ++b)
    core::for_each_cell(array->box(b), [&, to = array->view(b)](int k, int j, int i) {
      to(k, j, i) = value({i, j, k});
    });

  const std::int64_t cells = edit_gas(
      world, {"gas_density", box, &couple::edit_operations().named("set"), 0.0, "", {}, array}, GasUnits{}, gas);

  std::int64_t edited = 0, differ = 0;
  for (int level = 0; level <= gas.finest_level(); ++level) {
    const auto own = hierarchy.layout(level).boxes_of(world.rank());
    for (int b = 0; b < gas.state(level).blocks(); ++b)
      core::for_each_cell(gas.state(level).box(b), [&, u = gas.state(level).view(b)](int k, int j, int i) {
        const mesh::Int3 root{i >> level, j >> level, k >> level};
        if (!hierarchy.is_leaf(level, own[static_cast<std::size_t>(b)])) return;
        edited += box.contains(root);
        differ += u(solvers::density, k, j, i) != (box.contains(root) ? value(root) : 1.0);
      });
  }
  EXPECT_EQ(gas.finest_level(), 2);
  EXPECT_EQ(world.sum(edited), cells);
  EXPECT_EQ(world.sum(differ), 0);
}

// The sums that a run keeps, and the products and ratios that a solver computes, stay numbers.
TEST_F(GasEditTest, NumbersWhoseSumsOrProductsNoneCouldHoldAreRefused) {
  const auto set = [&](const char* quantity, double value) {
    edit_gas(world_, {quantity, box_, &couple::edit_operations().named("set"), value}, units_, *gas_);
  };
  for (const double value : {1e-300, 1e-101, 1e101, 1e200, 1e308})
    for (const char* const quantity : {"pressure", "gas_density"}) EXPECT_THROW(set(quantity, value), core::Error);
  EXPECT_EQ(cells_that_differ(solvers::total_energy, [](mesh::Int3) { return 3.0; }), 0);
  set("pressure", 1e99);
}

TEST_F(GasEditTest, WhatWouldLeaveACellEmptyChangesNothing) {
  const couple::RegionEdit edit{"pressure", box_, &couple::edit_operations().named("add"), -2.0};

  EXPECT_THROW(edit_gas(world_, edit, units_, *gas_), core::Error);
  EXPECT_EQ(cells_that_differ(solvers::total_energy, [](mesh::Int3) { return 3.0; }), 0);
}

}  // namespace
}  // namespace sidestream::sims
