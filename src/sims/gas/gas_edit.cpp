#include "sims/gas/gas_edit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::sims {

namespace {

using Gas = core::View4<double>;

// A quantity of the conserved state: its value in a cell, and the cell with another value.
struct Editor {
  double (*value)(Gas gas, mesh::Int3 cell, double gamma);
  void (*set)(Gas gas, mesh::Int3 cell, double gamma, double value);
};

Editor editor_of(const std::string& quantity) {
  if (quantity == "gas_density")
    return {[](Gas gas, mesh::Int3 at, double) { return gas(solvers::density, at.z, at.y, at.x); },
            [](Gas gas, mesh::Int3 at, double, double value) {
              const double factor = value / gas(solvers::density, at.z, at.y, at.x);
              gas(solvers::density, at.z, at.y, at.x) = value;
              for (int c = 0; c < solvers::gas_components; ++c)
                if (c != solvers::density) gas(c, at.z, at.y, at.x) *= factor;
            }};
  return {[](Gas gas, mesh::Int3 at, double gamma) {
            return (gamma - 1.0) * gas(solvers::internal_energy, at.z, at.y, at.x);
          },
          [](Gas gas, mesh::Int3 at, double gamma, double value) {
            const double internal = value / (gamma - 1.0);
            gas(solvers::total_energy, at.z, at.y, at.x) += internal - gas(solvers::internal_energy, at.z, at.y, at.x);
            gas(solvers::internal_energy, at.z, at.y, at.x) = internal;
          }};
}

// Cells of level 0 as cells of the level of `geometry`: axes of one cell stay so.
mesh::Box on_level(const mesh::Box& cells, const mesh::Geometry& root, const mesh::Geometry& geometry) {
  mesh::Box box = cells;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int32_t factor = geometry.domain.extent()[axis] / root.domain.extent()[axis];
    box.lo[axis] *= factor;
    box.hi[axis] *= factor;
  }
  return box;
}

// The values of an array where the gas of this rank is.
std::optional<mesh::Field<double>> values_here(const comm::Communicator& comm, const couple::RegionEdit& edit,
                                               const solvers::RefinedGas& gas) {
  if (!edit.values) return std::nullopt;
  if (gas.finest_level() > 0)
    throw core::Error("an array can be edited in on a mesh without refinement only", "", "edit boxes with one value");
  mesh::Field<double> here(gas.hierarchy().layout(0), comm.rank());
  redistribute::Redistribution(comm, edit.values->layout(), here.layout()).apply(*edit.values, here);
  return here;
}

// Calls `f(gas, cell, new value)` for each leaf cell of this rank in the region.
template <typename F>
void for_each_edited(const comm::Communicator& comm, const couple::RegionEdit& edit, const Editor& editor, double gamma,
                     const mesh::Field<double>* values, solvers::RefinedGas& gas, F f) {
  const mesh::Hierarchy& hierarchy = gas.hierarchy();
  for (int level = 0; level <= gas.finest_level(); ++level) {
    const mesh::Box region = on_level(edit.cells, hierarchy.geometry(0), hierarchy.geometry(level));
    const auto own = hierarchy.layout(level).boxes_of(comm.rank());
    mesh::Field<double>& state = gas.state(level);
    for (int b = 0; b < state.blocks(); ++b) {
      if (!hierarchy.is_leaf(level, own[static_cast<std::size_t>(b)])) continue;
      core::for_each_cell(intersection(region, state.box(b)), [&, view = state.view(b)](int k, int j, int i) {
        const double value = values != nullptr ? values->view(b)(0, k, j, i) : edit.value;
        const mesh::Int3 cell{i, j, k};
        f(view, cell, edit.operation->result(editor.value(view, cell, gamma), value));
      });
    }
  }
}

}  // namespace

std::vector<couple::EditableQuantity> editable_gas() {
  return {{"gas_density", "", "density; velocity and specific energies of the gas stay as they are", 0.0},
          {"pressure", "", "pressure; density and velocity of the gas stay as they are", 0.0}};
}

std::int64_t edit_gas(const comm::Communicator& comm, const couple::RegionEdit& edit, double gamma,
                      solvers::RefinedGas& gas) {
  const Editor editor = editor_of(edit.quantity);
  const std::optional<mesh::Field<double>> array = values_here(comm, edit, gas);
  const mesh::Field<double>* const values = array ? &*array : nullptr;
  std::int64_t cells = 0, refused = 0;
  for_each_edited(comm, edit, editor, gamma, values, gas, [&](Gas, mesh::Int3, double value) {
    ++cells;
    refused += !(value > 0.0 && std::isfinite(value));
  });
  if (const std::int64_t all = comm.sum(refused); all > 0)
    throw core::Error(fmt::format("`{}` would not be above 0 in {} cells", edit.quantity, all));
  for_each_edited(comm, edit, editor, gamma, values, gas,
                  [&](Gas view, mesh::Int3 cell, double value) { editor.set(view, cell, gamma, value); });
  gas.settle();
  return comm.sum(cells);
}

}  // namespace sidestream::sims
