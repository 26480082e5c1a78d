#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// A component here that is connected to one of another rank.
struct CrossLink {
  std::int32_t here = 0, there = 0;
};

/// What a component is called, and which one gave the name. Smaller values are better; equal values of two components
/// are told apart by where they are.
struct Name {
  std::int64_t value = 0;
  std::int32_t rank = 0, component = 0;  ///< where the name comes from

  friend auto operator<=>(const Name&, const Name&) = default;
};

/// Replaces the name of each component of this rank by the smallest among those of everything it is connected to.
/// `links[p]` are the connections to rank p, which lists the same ones in the same order. Collective; messages pass
/// only between ranks that hold parts of one connected whole, in O(log ranks) rounds.
void spread_names(const comm::Communicator& comm, std::span<const std::vector<CrossLink>> links,
                  std::vector<Name>& names);

}  // namespace sidestream::analysis
