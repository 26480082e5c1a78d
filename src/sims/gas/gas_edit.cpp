#include "sims/gas/gas_edit.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sidestream/core/error.hpp"
#include "sims/run/edited_cells.hpp"

namespace sidestream::sims {

namespace {

using Gas = core::View4<double>;

// A quantity that is a component of the conserved state times a factor, and what becomes of a cell where that component
// gets another value.
struct Editor {
  const char* name;
  const char* meaning;
  void (*set)(Gas gas, mesh::Int3 cell, int component, double value);
};

void set_density(Gas gas, mesh::Int3 at, int component, double value) {
  const double factor = value / gas(component, at.z, at.y, at.x);
  for (int c = 0; c < solvers::gas_components; ++c) gas(c, at.z, at.y, at.x) *= factor;
  gas(component, at.z, at.y, at.x) = value;
}

void set_internal_energy(Gas gas, mesh::Int3 at, int component, double value) {
  gas(solvers::total_energy, at.z, at.y, at.x) += value - gas(component, at.z, at.y, at.x);
  gas(component, at.z, at.y, at.x) = value;
}

constexpr std::array editors{
    Editor{"gas_density", "velocity and specific energies of the gas stay as they are", set_density},
    Editor{"pressure", "density and velocity of the gas stay as they are", set_internal_energy}};

const Editor& editor_of(const std::string& quantity) {
  for (const Editor& editor : editors)
    if (quantity == editor.name) return editor;
  throw core::Error(fmt::format("`{}` of a gas cannot be edited", quantity), "",
                    "`sidestream steer RUN list` says what may be edited");
}

// Of the numbers of a cell after an edit: products and ratios of two of them and sums over all cells, which the books
// keep, in whatever unit, are numbers still.
constexpr double smallest_number = 1e-100, largest_number = 1e100;

// Whether an edit leaves a cell that is gas: positive density and pressure, and no number that is too small or large.
bool can_be(const Editor& editor, Gas gas, mesh::Int3 at, int component, double value) {
  if (!(value > 0.0 && std::isnormal(value))) return false;
  std::array<double, solvers::gas_components> cell{};
  const Gas copy(cell.data(), at.x, at.y, at.z, 1, 1, 1, solvers::gas_components);
  const auto number = [&](int c) -> double& { return copy(c, at.z, at.y, at.x); };
  for (int c = 0; c < solvers::gas_components; ++c) number(c) = gas(c, at.z, at.y, at.x);
  editor.set(copy, at, component, value);
  double squared = 0.0;
  for (const int c : {solvers::momentum_x, solvers::momentum_y, solvers::momentum_z}) squared += number(c) * number(c);
  const auto is_bounded = [](double one) { return std::fabs(one) <= largest_number; };
  return number(solvers::density) >= smallest_number && number(solvers::internal_energy) >= smallest_number &&
         is_bounded(number(solvers::density)) && is_bounded(number(solvers::total_energy)) &&
         is_bounded(squared / number(solvers::density)) &&
         is_bounded(number(solvers::internal_energy) / number(solvers::density));
}

}  // namespace

std::vector<couple::EditableQuantity> editable_gas(const GasUnits& units) {
  const std::vector<GasQuantity> table = gas_quantities(units);
  std::vector<couple::EditableQuantity> all;
  for (const Editor& editor : editors)
    all.push_back({editor.name, find(table, editor.name)->quantity.unit,
                   find(table, editor.name)->quantity.meaning + "; " + editor.meaning, 0.0});
  return all;
}

std::int64_t edit_gas(const comm::Communicator& comm, const couple::RegionEdit& edit, const GasUnits& units,
                      solvers::RefinedGas& gas) {
  const Editor& editor = editor_of(edit.quantity);
  const std::vector<GasQuantity> table = gas_quantities(units);
  const GasQuantity& quantity = *find(table, edit.quantity);
  const auto result = [&](Gas view, mesh::Int3 at, double value) {
    const double present = quantity.factor * view(quantity.component, at.z, at.y, at.x);
    return edit.operation->result(present, value) / quantity.factor;
  };
  const EditedCells edited(comm, edit, gas.hierarchy());
  std::int64_t cells = 0, refused = 0;
  edited.for_each([&](int level, int block, mesh::Int3 cell, double value) {
    ++cells;
    const Gas view = gas.state(level).view(block);
    refused += !can_be(editor, view, cell, quantity.component, result(view, cell, value));
  });
  if (const std::int64_t all = comm.sum(refused); all > 0)
    throw core::Error(
        fmt::format("`{}` would not be above 0 in {} cells, or leave numbers that are too small or too large",
                    edit.quantity, all),
        "", "add less, or set a value above 0");
  edited.for_each([&](int level, int block, mesh::Int3 cell, double value) {
    const Gas view = gas.state(level).view(block);
    editor.set(view, cell, quantity.component, result(view, cell, value));
  });
  gas.settle();
  return comm.sum(cells);
}

}  // namespace sidestream::sims
