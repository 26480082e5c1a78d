#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/compact_sum.hpp"

namespace sidestream::analysis {

/// A rank's contribution to one sum of a table.
struct IndexedPortion {
  std::int64_t index = 0;
  core::SumPortion portion;
};

/// Appends what a rank has of the sum at `index`.
inline void append(std::vector<IndexedPortion>& portions, std::int64_t index, const core::CompactSum& sum) {
  sum.for_each_portion([&](const core::SumPortion& portion) { portions.push_back({index, portion}); });
}

/// The correctly rounded totals over all ranks of a table of `size` sums, times 2^`power`, on rank 0; empty elsewhere.
/// Collective; each rank adds up a share of the table.
std::vector<double> totals(const comm::Communicator& comm, std::int64_t size, std::span<const IndexedPortion> portions,
                           int power = 0);
std::vector<double> totals(const comm::Communicator& comm, std::span<const core::CompactSum> sums, int power = 0);

}  // namespace sidestream::analysis
