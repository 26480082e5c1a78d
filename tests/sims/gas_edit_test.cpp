#include "sims/gas/gas_edit.hpp"

#include <gtest/gtest.h>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

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
  const std::int64_t cells = edit_gas(
      world_, {"gas_density", box_, &couple::edit_operations().named("multiply"), 4.0}, units_, *gas_);

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

TEST_F(GasEditTest, WhatWouldLeaveACellEmptyChangesNothing) {
  const couple::RegionEdit edit{"pressure", box_, &couple::edit_operations().named("add"), -2.0};

  EXPECT_THROW(edit_gas(world_, edit, units_, *gas_), core::Error);
  EXPECT_EQ(cells_that_differ(solvers::total_energy, [](mesh::Int3) { return 3.0; }), 0);
}

}  // namespace
}  // namespace sidestream::sims
