#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/box.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::couple {

/// What an edit does with the value of a cell.
struct EditOperation {
  std::string name, documentation;
  double (*result)(double present, double value);
};
/// All operations there are.
const core::Registry<EditOperation>& edit_operations();

/// A change of a quantity in a part of the domain. What it does to a cell depends on that cell alone.
struct RegionEdit {
  std::string quantity;
  mesh::Box cells;  ///< of level 0; finer cells inside of them count
  const EditOperation* operation = &edit_operations().front();
  double value = 0.0;
  /// One value a cell of `cells` in place of `value`, on a layout of the ranks that compute, each its own part; null:
  /// all cells have the same.
  std::shared_ptr<const mesh::Field<double>> values{};
};

/// A quantity that a simulation lets edit.
struct EditableQuantity {
  std::string name, unit, meaning;
  double above = 0.0;  ///< all cells stay above it
};

}  // namespace sidestream::couple
