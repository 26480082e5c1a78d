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

/// A file of values, one a cell of a box (see `edit_array.hpp`).
struct EditArrayName {
  std::string name;      ///< in the folder of the run; empty: there is none
  std::string checksum;  ///< of what is in it

  explicit operator bool() const { return !name.empty(); }
};

/// The key of `RegionEdit::where`, for messages.
inline const std::string edit_condition = "edit.where";

/// A change of a quantity in a part of the domain. What it does to a cell depends on that cell alone.
struct RegionEdit {
  std::string quantity;
  mesh::Box cells;  ///< of level 0; finer cells inside of them count
  const EditOperation* operation = &edit_operations().front();
  double value = 0.0;
  std::string where{};    ///< only cells in which this condition (`CellCondition`) holds; empty: all
  EditArrayName array{};  ///< of values that take the place of `value`

  /// What `array` holds, on a layout of the ranks that compute, each its own part: NaN where a cell stays as it is.
  /// Null: all cells have the same value.
  std::shared_ptr<const mesh::Field<double>> values{};
  /// 1 where `where` holds, on the leaves of each level. Null: everywhere.
  std::shared_ptr<const std::vector<mesh::Field<double>>> holds{};
};

/// A quantity that a simulation lets edit.
struct EditableQuantity {
  std::string name, unit, meaning;
  double above = 0.0;  ///< all cells stay above it
};

/// What may be edited of a run, and where.
struct EditRules {
  std::vector<EditableQuantity> editable;
  mesh::Box domain;                       ///< of level 0
  std::vector<std::string> quantities{};  ///< that conditions may name
  bool has_redshift = false;              ///< that they may
  std::string folder{};                   ///< of the run, for arrays; empty: there are none
};

}  // namespace sidestream::couple
