#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/merge_tree/tree_part.hpp"
#include "sidestream/comm/sparse_exchange.hpp"

namespace sidestream::analysis {

/// For each maximum of `part`, if it reaches the height `level`, the highest maximum of the component of the cells at
/// or above `level` that it lies in; else no peak. Collective; by pointer jumping, so that the number of rounds grows
/// with the logarithm of the ranks that a component spans.
std::vector<Peak> representatives(const comm::Communicator& comm, const TreePart& part, double level);

/// Finds for each branch of a rank the highest maximum of the branches that it meets where it ends, the one that goes
/// on (elder rule). Like a `TreePart` it computes and never communicates: each rank asks those it must know more of
/// where the branches of some of their maxima end, until it need not.
class ElderSearch {
 public:
  ElderSearch(const TreePart& part, int rank);

  /// The numbers of maxima of other ranks that this one must know of, each once ever; none when done.
  comm::ByRank<std::int32_t> questions();
  /// What another rank asked.
  std::vector<BranchEnd> answers(std::span<const std::int32_t> maxima) const;
  /// The answers of a rank to the latest questions.
  void take(int rank, std::span<const BranchEnd> answers);

  /// Of each maximum, no peak where its branch never ends; complete when there are no more questions.
  const std::vector<Peak>& elders() const { return elders_; }

 private:
  bool climb(std::size_t maximum);

  const TreePart& part_;
  int rank_;
  std::vector<Peak> elders_;        // as far as the search has come
  std::vector<std::size_t> going_;  // maxima whose elders are not found yet
  comm::ByRank<std::int32_t> asked_;
  std::unordered_map<std::int64_t, BranchEnd> known_;  // of maxima of other ranks
};

/// The same, with its communication. Collective.
std::vector<Peak> elders(const comm::Communicator& comm, const TreePart& part);

}  // namespace sidestream::analysis
