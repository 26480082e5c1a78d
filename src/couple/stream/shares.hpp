#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sidestream::couple {

/// By rank of a run, the reader whose share it is: shares are contiguous, and the first have one more where they do not
/// come out even (Marrinan et al. 2019).
inline std::vector<std::int32_t> owners_of_writers(int writers, int readers) {
  std::vector<std::int32_t> owners;
  for (int reader = 0; reader < readers; ++reader) {
    const int count = writers / readers + (reader < writers % readers ? 1 : 0);
    owners.insert(owners.end(), static_cast<std::size_t>(count), reader);
  }
  return owners;
}

/// Ranks of a job that talk with another job, `count` of `ranks` (0: all), spread evenly.
inline std::vector<std::int32_t> gateways_of(int count, int ranks) {
  const int gateways = count == 0 ? ranks : std::min(count, ranks);
  std::vector<std::int32_t> all;
  for (int g = 0; g < gateways; ++g) all.push_back(static_cast<std::int32_t>(std::int64_t{g} * ranks / gateways));
  return all;
}

/// By rank, the number of the gateway that talks for it: the last one up to itself.
inline std::vector<std::int32_t> gateway_for(const std::vector<std::int32_t>& gateways, int ranks) {
  std::vector<std::int32_t> numbers;
  for (int rank = 0; rank < ranks; ++rank)
    numbers.push_back(static_cast<std::int32_t>(std::ranges::upper_bound(gateways, rank) - gateways.begin() - 1));
  return numbers;
}

}  // namespace sidestream::couple
