#pragma once

#include <chrono>

namespace sidestream::core {

/// Wall-clock time since its construction or the last `restart`, in seconds.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void restart() { start_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace sidestream::core
