#include "analysis/statistics/totals.hpp"

#include <algorithm>

namespace sidestream::analysis {

std::vector<double> totals(const comm::Communicator& comm, std::int64_t size, std::span<const IndexedPortion> portions,
                           int power) {
  const std::int64_t a_rank = (size + comm.size() - 1) / comm.size();
  std::vector<std::vector<IndexedPortion>> outgoing(static_cast<std::size_t>(comm.size()));
  for (const IndexedPortion& portion : portions)
    outgoing[static_cast<std::size_t>(portion.index / a_rank)].push_back(portion);

  const std::int64_t first = std::min(size, comm.rank() * a_rank), last = std::min(size, first + a_rank);
  std::vector<core::CompactSum> sums(static_cast<std::size_t>(last - first));
  for (const auto& of_rank : comm.exchange(outgoing))
    for (const IndexedPortion& portion : of_rank)
      sums[static_cast<std::size_t>(portion.index - first)].add(portion.portion);
  std::vector<double> values;
  values.reserve(sums.size());
  for (const core::CompactSum& sum : sums) values.push_back(sum.value(power));
  return comm.gather(std::span<const double>(values));
}

std::vector<double> totals(const comm::Communicator& comm, std::span<const core::CompactSum> sums, int power) {
  std::vector<IndexedPortion> portions;
  for (std::size_t index = 0; index < sums.size(); ++index)
    append(portions, static_cast<std::int64_t>(index), sums[index]);
  return totals(comm, static_cast<std::int64_t>(sums.size()), portions, power);
}

}  // namespace sidestream::analysis
