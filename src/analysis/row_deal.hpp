#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sidestream/comm/sparse_exchange.hpp"

namespace sidestream::analysis {

/// A half-open range of rows.
struct RowRange {
  std::int64_t begin = 0, end = 0;
};

/// The number of the first row of this rank in a table whose rows all ranks hold in their order. Collective.
inline std::int64_t first_row(const comm::Communicator& comm, std::int64_t rows_here) {
  std::int64_t first = 0;
  comm::check(MPI_Exscan(&rows_here, &first, 1, MPI_INT64_T, MPI_SUM, comm.raw()), "MPI_Exscan");
  return comm.rank() == 0 ? 0 : first;
}

/// Rows of a table of which each rank holds a part, in rank order, dealt anew so that rank p has the rows `wanted[p]`.
/// Collective; messages only between ranks whose ranges meet.
template <typename T>
std::vector<T> dealt_rows(const comm::Communicator& comm, const std::vector<T>& mine,
                          const std::vector<RowRange>& wanted) {
  const auto count = static_cast<std::int64_t>(mine.size());
  const std::int64_t begin = first_row(comm, count);
  comm::ByRank<T> outgoing;
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    const std::int64_t from = std::max(begin, wanted[rank].begin) - begin;
    const std::int64_t to = std::min(begin + count, wanted[rank].end) - begin;
    if (from < to) outgoing[static_cast<int>(rank)].assign(mine.begin() + from, mine.begin() + to);
  }
  std::vector<T> rows;
  for (const auto& [rank, part] : comm::deliver(comm, outgoing).incoming)
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace sidestream::analysis
