#pragma once

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

}  // namespace sidestream::couple
