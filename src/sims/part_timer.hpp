#pragma once

#include <string>

#include "sidestream/core/timer.hpp"
#include "sidestream/sims/simulation.hpp"

namespace sidestream::sims {

/// Runs `work` and adds its wall-clock time to the part `name`.
template <typename F>
void timed(PartSeconds& seconds, const char* name, F work) {
  const core::Stopwatch watch;
  work();
  seconds[name] += watch.seconds();
}

}  // namespace sidestream::sims
