#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/components/cell_runs.hpp"
#include "analysis/merge_tree/boundary.hpp"
#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/comm/sparse_exchange.hpp"

namespace sidestream::analysis {

/// Where a branch ends: the saddle, and the maximum of a branch that goes on below it.
struct BranchEnd {
  Saddle saddle;
  Peak parent;  ///< of rank -1 for a branch that never ends
};

/// A message: these two maxima are connected at the saddle (and above).
struct Meeting {
  Saddle saddle;
  Peak a, b;
};

/// What one rank holds of a merge tree: the active cells of its blocks, the maximum each leads up to, and where the
/// branch of each of its maxima ends. It computes and never communicates: who drives it brings what it gives to others
/// to them, until no rank has anything to say.
///
///     TreePart part(field, rank, options);
///     deliver part.surfaces() -> part.meet(incoming)
///     while any rank has meetings: deliver part.take_meetings() -> part.take(incoming)
class TreePart {
 public:
  /// The tree of each block, and of the blocks of this rank together.
  TreePart(const LeafField& field, int rank, const TreeOptions& options);
  /// One that was stored; `maximum_of` and `ends` fit its active cells.
  TreePart(const LeafField& field, int rank, const TreeOptions& options, std::vector<std::int32_t> maximum_of,
           std::vector<Peak> peaks, std::vector<BranchEnd> ends);

  std::span<const Runs> levels() const { return levels_; }
  std::span<const std::int32_t> maximum_of() const { return maximum_of_; }
  std::span<const Peak> peaks() const { return peaks_; }
  std::span<const BranchEnd> ends() const { return ends_; }
  /// The first value that is not finite, in words; empty if there is none.
  std::string problem() const;

  /// What other ranks must see of this one's blocks.
  std::map<int, Surface> surfaces() const { return surfaces_for_others(levels_, maximum_of_, peaks_); }
  /// Takes what this one sees of the others, and notes which branches meet there.
  void meet(std::span<const Surface> surfaces);

  /// The meetings that other ranks must know of, each for the rank that has the lower of the two maxima.
  comm::ByRank<Meeting> take_meetings();
  void take(std::span<const Meeting> meetings);

  /// Goes from a maximum here up the branches that it is connected to at `level` or above, as far as this rank knows.
  Peak climb(Peak from, const Saddle& level) const;

 private:
  static std::vector<Runs> make_runs(const LeafField& field, const TreeOptions& options);
  void build_blocks(int level, int threads, Connectivity connectivity);
  void join_blocks(int threads);
  void merge(Meeting meeting);

  int rank_;
  Connectivity connectivity_;
  std::vector<Runs> levels_;
  std::vector<std::int32_t> maximum_of_;  // of each active cell
  std::vector<Peak> peaks_;               // of each maximum
  std::vector<BranchEnd> ends_;           // of each maximum
  std::vector<Meeting> outgoing_;
};

}  // namespace sidestream::analysis
