#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "couple/publish/block_messages.hpp"
#include "couple/publish/buffer_pool.hpp"
#include "couple/publish/cargo.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::couple {

/// Ranks of a group that talk with readers for the others too, which bring them their blocks first.
class Gateways {
 public:
  /// `count`: of them; 0: each rank talks for itself.
  Gateways(const comm::Communicator& group, int count);

  bool are_any() const { return count_ > 0; }
  /// The ranks that readers talk with: all of them where there are no gateways.
  const std::vector<std::int32_t>& ranks() const { return ranks_; }

  /// Blocks of these levels are brought from now on. Collective on the group where there are gateways.
  void make_way(const std::vector<mesh::Layout>& levels);
  /// Where the blocks of the levels lie once they are brought.
  const std::vector<mesh::Layout>& levels() const { return levels_; }
  /// What this rank has for readers; `own`, that of its blocks, was made by `route`. Collective on the group.
  Cargo brought(const Route& route, Cargo own, std::size_t fields, BufferPool& pool) const;
  /// The levels as readers are told of them: owners are counted as readers count the ranks that they can reach.
  std::vector<mesh::Layout> told(const std::vector<mesh::Layout>& levels) const;

 private:
  const comm::Communicator& group_;
  int count_;
  std::vector<std::int32_t> ranks_;
  std::vector<std::int32_t> number_for_, rank_for_;  // by rank: which gateway talks for it, and which rank that is
  std::vector<mesh::Layout> levels_;
  Route route_;                                      // of what is brought
  std::vector<redistribute::Redistribution> plans_;  // by level
};

}  // namespace sidestream::couple
