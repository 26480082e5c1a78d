#pragma once

#include "analysis/merge_tree/tree_part.hpp"
#include "sidestream/analysis/merge_tree.hpp"

namespace sidestream::analysis {

class MergeTree::Impl {
 public:
  Impl(const comm::Communicator& comm, LeafField field, const TreeOptions& options);
  Impl(const comm::Communicator& comm, LeafField field, const TreeOptions& options, TreePart part);

  double sign() const { return options.sets == Sets::above ? 1.0 : -1.0; }
  /// The height of a threshold; throws core::Error for one beyond the cut-off.
  double level_of(double threshold) const;

  comm::Communicator comm;
  LeafField field;
  TreeOptions options;
  TreePart part;

 private:
  TreePart make_part() const;
};

}  // namespace sidestream::analysis
