#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/boundary.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// The highest cell of a component and where it lives. Ordered by height; of equal values the cell of the smaller index
/// is the higher.
struct Peak {
  double value = 0.0;
  std::int64_t cell = 0;                 ///< linear index in the domain of the finest level, of its lowest corner
  std::int32_t rank = 0, component = 0;  ///< the rank that owns the cell, its number for the component

  friend bool operator<(const Peak& a, const Peak& b) {
    return a.value != b.value ? a.value < b.value : a.cell > b.cell;
  }
  friend bool operator==(const Peak& a, const Peak& b) { return a.cell == b.cell; }
};

/// Replaces the highest cell of each local component by that of everything it is connected to through `edges`.
/// Collective; messages pass only between ranks that hold parts of one component, in O(log ranks) rounds.
void spread_peaks(const comm::Communicator& comm, std::span<const std::vector<CrossEdge>> edges,
                  std::vector<Peak>& peaks);

}  // namespace sidestream::analysis
