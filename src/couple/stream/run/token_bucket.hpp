#pragma once

#include <algorithm>

#include "sidestream/core/timer.hpp"

namespace sidestream::couple {

/// Bounds how often something is done: `most` times at once, and `per_s` times a second in the long run. Of one thread.
class TokenBucket {
 public:
  TokenBucket(double most, double per_s) : most_(most), per_s_(per_s), tokens_(most) {}

  /// Whether it may be done once more now.
  bool take() {
    tokens_ = std::min(most_, tokens_ + per_s_ * since_filled_.seconds());
    since_filled_.restart();
    if (tokens_ < 1.0) return false;
    tokens_ -= 1.0;
    return true;
  }

 private:
  double most_, per_s_, tokens_;
  core::Stopwatch since_filled_{};
};

}  // namespace sidestream::couple
