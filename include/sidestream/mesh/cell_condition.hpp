#pragma once

#include <string>
#include <vector>

#include "sidestream/mesh/derived.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::mesh {

/// What is true of a cell or not, in the language of `[quantity.NAME]`: `gas_density > 2 and pressure < 0.1`.
class CellCondition {
 public:
  /// `key` is that of the text, for messages. Throws core::Error with the column for what is no condition.
  CellCondition(const std::string& text, const std::string& key);

  /// The quantities that it names, in the order of the text.
  const std::vector<std::string>& of() const { return truth_.of(); }
  /// Throws core::Error unless all names are those of `quantities`, or of the moment where there is a redshift.
  void check(const std::vector<std::string>& quantities, bool has_redshift) const;
  /// 1 in the cells of this rank where it holds, 0 in others: on the leaves of each level of `snapshot`, within `cells`
  /// of level 0 and nowhere else. Collective.
  std::vector<Field<double>> holds(const Snapshot& snapshot, const Box& cells) const;

 private:
  DerivedQuantity truth_;
};

}  // namespace sidestream::mesh
