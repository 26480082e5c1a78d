#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::analysis {

/// Throws core::Error when a grid of `level`, above 0, would have more than 10^10 cells.
void check_covering_grid(const mesh::Box& root, int level);

/// The whole domain at the resolution of one level, on one layout. A cell of it is the average of the finer leaves
/// inside (whichever ranks hold them: sums do not depend on order), or has the value of the leaf, of its own size or
/// coarser, that holds it. Built once (collective), applied often.
class CoveringGrid {
 public:
  /// `levels` are the layouts of the leaves, coarsest first; `level` may be finer than all of them. Throws core::Error
  /// as above.
  CoveringGrid(const comm::Communicator& comm, std::span<const mesh::Layout> levels, int level);

  /// On a uniform mesh and level 0 the layout of the leaves; else slabs, one for each rank while there are planes
  /// enough.
  const mesh::Layout& layout() const { return layout_; }

  /// `field` (finite, on the layouts of the constructor) on this grid; on a uniform mesh and level 0 the field itself,
  /// not a copy. Collective. Memory: 8 bytes a cell, and 32 more for each that
  /// finer leaves fill.
  ScalarView of(const comm::Communicator& comm, const LeafField& field) const;

 private:
  struct Transfer {
    int level;  // of the leaves
    redistribute::Redistribution plan;
  };
  void average(const comm::Communicator& comm, const LeafField& field, mesh::Field<double>& grid) const;
  void inject(const Transfer& coarser, const ScalarView& leaves, mesh::Field<double>& grid) const;

  int level_;
  mesh::Layout layout_;
  bool is_uniform_ = false;                            // and of level 0: nothing to do
  bool has_finer_ = false;                             // leaves
  std::vector<Transfer> coarser_;                      // from coarser leaves
  std::optional<redistribute::Redistribution> equal_;  // from leaves of this level
};

/// The field `name` of the snapshot ("total_density" may be made of its parts) on the covering grid of `level`.
/// Collective. Lives as long as `snapshot`.
ScalarView covering_field(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const std::string& name,
                          int level);

}  // namespace sidestream::analysis
