#pragma once

#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

/// What the number of ranks asked for means when there are sidecars.
enum class SidecarCount {
  total,  ///< sidecars are part of it
  extra,  ///< it counts the ranks that compute; sidecars come on top
};

/// Sizes of the world and of its two groups; `world == compute + sidecars` and `compute >= 1`.
struct RankCounts {
  int world = 1, compute = 1, sidecars = 0;
  friend bool operator==(const RankCounts&, const RankCounts&) = default;
};

/// The processes to start when the user asks for `ranks`. Throws core::Error when no rank would be left to compute.
RankCounts plan_ranks(int ranks, int sidecars, SidecarCount count);

/// A world of ranks split into a group that computes and one of sidecars, which are its last ranks. A rank belongs to
/// one of them. Any sizes, as long as one rank computes.
class Roles {
 public:
  /// Collective on `world`. Throws core::Error on all ranks when `sidecars` leaves no rank to compute. Where
  /// `shares_memory`, it finds out which ranks may lend memory to each other, if there are sidecars.
  Roles(const Communicator& world, int sidecars, bool shares_memory = true);

  bool computes() const { return world_.rank() < counts_.compute; }
  const RankCounts& counts() const { return counts_; }

  /// All ranks: the computing ones keep their number, sidecar `s` is rank `world_rank_of_sidecar(s)`.
  const Communicator& world() const { return world_; }
  /// The group that this rank belongs to.
  const Communicator& group() const { return group_; }
  int world_rank_of_sidecar(int sidecar) const { return counts_.compute + sidecar; }
  /// By rank of `world`: whether it and this one may borrow memory from each other.
  const std::vector<bool>& sharers_of_memory() const { return sharers_of_memory_; }

 private:
  RankCounts counts_;
  Communicator world_, group_;
  std::vector<bool> sharers_of_memory_;
};

}  // namespace sidestream::comm
