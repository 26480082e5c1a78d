#pragma once

#include <string>
#include <vector>

#include "sidestream/mesh/derived.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::couple {

/// What is true of a cell or not, in the language of `[quantity.NAME]`: `gas_density > 2 and pressure < 0.1`.
class CellCondition {
 public:
  /// Throws core::Error with the column for what is no condition.
  explicit CellCondition(const std::string& text);

  /// Throws core::Error unless all names are those of `quantities`, or of the moment where there is a redshift.
  void check(const std::vector<std::string>& quantities, bool has_redshift) const;
  /// 1 in the cells of this rank where it holds, 0 in others: on the leaves of each level of `snapshot`, within `cells`
  /// of level 0 and nowhere else. Collective.
  std::vector<mesh::Field<double>> holds(const mesh::Snapshot& snapshot, const mesh::Box& cells) const;

 private:
  mesh::DerivedQuantity truth_;
};

}  // namespace sidestream::couple
