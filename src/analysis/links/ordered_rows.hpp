#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// Rows of all ranks, dealt anew so that they ascend by `key(row)` on each rank and from one rank to the next: the same
/// table for any number of ranks, wherever its rows came from, as long as no two keys are equal. Rows with one
/// `border(row)`, the smallest key that a row of theirs may have, come to one rank. Each rank has about as many rows as
/// the others. Keys are plain values with `<`. Collective.
template <typename T, typename Key, typename Border>
std::vector<T> ordered_rows(const comm::Communicator& comm, std::vector<T> rows, Key key, Border border) {
  constexpr std::int64_t samples_a_rank = 32;
  const auto is_before = [&](const T& a, const T& b) { return key(a) < key(b); };
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::sort(rows.begin(), rows.end(), is_before);
  const auto total = comm.sum(static_cast<std::int64_t>(rows.size()));
  const auto spacing = static_cast<std::size_t>(total / (samples_a_rank * comm.size()) + 1);
  using Sample = decltype(border(rows.front()));
  std::vector<Sample> samples;
  for (std::size_t row = spacing / 2; row < rows.size(); row += spacing) samples.push_back(border(rows[row]));
  samples = comm.all_gather(std::span<const Sample>(samples));
  std::sort(samples.begin(), samples.end());
  std::vector<std::vector<T>> outgoing(ranks);
  auto from = rows.begin();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t end = samples.size() * (rank + 1) / ranks;
    const auto to = end == samples.size()
                        ? rows.end()
                        : std::partition_point(from, rows.end(), [&](const T& row) { return key(row) < samples[end]; });
    outgoing[rank].assign(from, to);
    from = to;
  }
  rows = {};
  for (const auto& part : comm.exchange(outgoing)) rows.insert(rows.end(), part.begin(), part.end());
  std::sort(rows.begin(), rows.end(), is_before);
  return rows;
}

}  // namespace sidestream::analysis
