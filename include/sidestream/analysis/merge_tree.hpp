#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sidestream/analysis/connectivity.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::analysis {

/// A branch of a merge tree in the triplet form (Smirnov & Morozov 2017): going down from its maximum, at its saddle it
/// meets a branch with a higher maximum, and ends. Cells are linear indices in the order z, y, x.
struct Branch {
  std::int64_t maximum = 0;
  double birth = 0.0;                                       ///< value at the maximum
  std::int64_t saddle = -1;                                 ///< -1 for a branch that never ends
  double death = -std::numeric_limits<double>::infinity();  ///< value at the saddle
  std::int64_t parent = -1;                                 ///< maximum of the branch it joins; -1 if none

  double persistence() const { return birth - death; }
};

/// How the components of {f >= t} appear and merge as t falls. Of two that meet, the one with the lower maximum ends
/// (elder rule); of equal values the cell with the smaller index is the higher.
class MergeTree {
 public:
  explicit MergeTree(std::vector<Branch> branches) : branches_(std::move(branches)) {}

  /// By descending maximum.
  std::span<const Branch> branches() const { return branches_; }
  /// Number of connected components of the cells with f >= `threshold`. O(branches).
  std::int64_t components(double threshold) const;
  /// The maxima of the components of {f >= t_boundary} that reach t_halo, highest first. O(branches).
  std::vector<std::int64_t> halos(double t_boundary, double t_halo) const;
  /// Without the branches of a persistence below `least`.
  MergeTree simplified(double least) const;

 private:
  std::vector<Branch> branches_;
};

/// The merge tree of `values` on a grid of `cells` (z, y, x order), serially. Cells below `cut_off` are left out, and
/// what would merge below it never does. Throws core::Error for values that are not finite and for 2^31 cells or more.
/// O(n log n); 20 bytes for each cell kept and 4 for each cell.
MergeTree merge_tree(std::span<const double> values, mesh::Int3 cells, mesh::Periodicity periodic = {true, true, true},
                     Connectivity connectivity = Connectivity::freudenthal,
                     double cut_off = -std::numeric_limits<double>::infinity());

}  // namespace sidestream::analysis
