#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace sidestream::test {

/// Whether tests have their long form: SIDESTREAM_LARGE is in the environment, as `make test-slow` puts it there.
inline bool is_slow_tier() {
  return std::getenv("SIDESTREAM_LARGE") != nullptr;
}

/// What a test goes through: all in the slow tier, else the first `most`.
template <class T>
std::vector<T> shortened(std::vector<T> all, std::size_t most = 1) {
  if (!is_slow_tier()) all.resize(std::min(most, all.size()));
  return all;
}

}  // namespace sidestream::test
