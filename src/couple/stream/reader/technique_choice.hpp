#pragma once

#include <array>

#include "sidestream/couple/stream_reader.hpp"

namespace sidestream::couple {

/// What is known of a technique: how long its last steps took.
class TechniqueTimes {
 public:
  void add(double seconds);
  int steps() const { return steps_; }
  /// The median of the last steps [s]: where links and cores are shared, the fastest step says little of the others.
  double typical_s() const;

 private:
  std::array<double, 17> last_{};  // a ring
  int steps_ = 0;
};

/// Which of the two takes the next step: by turns until both are known, then the faster. The other comes again as often
/// as costs next to nothing, since the first few steps may all have been disturbed.
Technique choose_technique(const TechniqueTimes& boxes, const TechniqueTimes& blocks);

}  // namespace sidestream::couple
