#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/tree_part.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// For each maximum of `part`, if it reaches the height `level`, the highest maximum of the component of the cells at
/// or above `level` that it lies in; else no peak. Collective; by pointer jumping, so that the number of rounds grows
/// with the logarithm of the ranks that a component spans.
std::vector<Peak> representatives(const comm::Communicator& comm, const TreePart& part, double level);

/// Finds for each branch of a rank the highest maximum of the branches that it meets where it ends, the one that goes
/// on (elder rule). Like a `TreePart` it computes and never communicates: questions travel until all are answered.
class ElderSearch {
 public:
  struct Question {
    Saddle level;
    Peak from;  ///< as far as the search has come
    std::int32_t asker = 0, maximum = 0;
    std::int64_t is_answered = 0;
  };

  ElderSearch(const TreePart& part, int rank);

  /// What other ranks must follow further, or wait for.
  std::vector<std::vector<Question>> take_outgoing(int ranks);
  void take(std::span<const Question> questions);
  /// Names the elders in the part; all questions were answered.
  void finish(TreePart& part) const;

 private:
  void follow(Question question);

  const TreePart& part_;
  int rank_;
  std::vector<Peak> elders_;  // of each maximum
  std::vector<Question> outgoing_;
};

}  // namespace sidestream::analysis
