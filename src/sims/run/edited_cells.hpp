#pragma once

#include <functional>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/region_edit.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::sims {

/// The cells of this rank that an edit changes, and by what: leaves of all levels. A value of an array counts for all
/// finer cells inside of its cell.
class EditedCells {
 public:
  /// `edit` outlives it. Collective on `comm`.
  EditedCells(const comm::Communicator& comm, const couple::RegionEdit& edit, mesh::LevelLayouts levels);

  /// Calls `f(level, block, cell, value)` for each of them, with the number of the block among this rank's on the
  /// level. Local.
  using Visit = std::function<void(int level, int block, mesh::Int3 cell, double value)>;
  void for_each(const Visit& f) const;

 private:
  void for_each_in(int level, int block, const mesh::Field<double>* holds, int leaf, const Visit& f) const;

  int rank_;
  const couple::RegionEdit* edit_;
  mesh::LevelLayouts levels_;
  std::vector<mesh::Field<double>> values_;  // of each level, where its blocks lie on level 0; none without an array
};

}  // namespace sidestream::sims
