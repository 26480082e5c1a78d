#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// A half-open range of rows.
struct RowRange {
  std::int64_t begin = 0, end = 0;
};

/// Rows of a table of which each rank holds a part, in rank order, dealt anew so that rank p has the rows `wanted[p]`.
/// Collective; messages only between ranks whose ranges meet.
template <typename T>
std::vector<T> dealt_rows(const comm::Communicator& comm, const std::vector<T>& mine,
                          const std::vector<RowRange>& wanted) {
  const auto counts = comm.all_gather(static_cast<std::int64_t>(mine.size()));
  std::int64_t begin = 0;
  for (int rank = 0; rank < comm.rank(); ++rank) begin += counts[static_cast<std::size_t>(rank)];
  std::vector<std::vector<T>> outgoing(wanted.size());
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    const std::int64_t from = std::max(begin, wanted[rank].begin) - begin;
    const std::int64_t to = std::min(begin + counts[static_cast<std::size_t>(comm.rank())], wanted[rank].end) - begin;
    if (from < to) outgoing[rank].assign(mine.begin() + from, mine.begin() + to);
  }
  std::vector<T> rows;
  for (const auto& part : comm.exchange(outgoing)) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace sidestream::analysis
