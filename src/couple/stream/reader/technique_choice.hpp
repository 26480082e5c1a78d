#pragma once

#include "sidestream/couple/stream_reader.hpp"

namespace sidestream::couple {

/// What is known of a technique.
struct TechniqueTimes {
  double least_s = 0.0;  ///< of a step
  int steps = 0;
};

/// Which of the two takes the next step: by turns until both are known, then the faster. The other comes again as often
/// as costs next to nothing: least times do not hang on who else was busy, but the first few may.
Technique choose_technique(const TechniqueTimes& boxes, const TechniqueTimes& blocks);

}  // namespace sidestream::couple
