#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "sidestream/core/under_way.hpp"

namespace sidestream::analysis {

/// Calls `f(i)` for i = 0 ... count - 1, each once, by so many threads (this one among them). Rethrows the first
/// exception.
template <typename F>
void for_each_in_parallel(int count, int threads, F f) {
  std::atomic<int> next{0};
  std::exception_ptr problem;
  std::mutex guard;
  const auto work = [&] {
    try {
      for (int i = next++; i < count; i = next++) f(i);
    } catch (...) {
      const std::scoped_lock lock(guard);
      if (!problem) problem = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < std::min(threads, count); ++t)
      others.emplace_back([&work, under_way = core::UnderWay::here()] {
        const core::UnderWay same(under_way);
        work();
      });
    work();
  }
  if (problem) std::rethrow_exception(problem);
}

}  // namespace sidestream::analysis
