#pragma once

#include "sidestream/comm/threads.hpp"
#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::fft {

/// Throws core::Error, on all ranks alike, for threads that cannot be where MPI allows `level`.
void require_threads(const FftOptions& options, comm::ThreadLevel level);

/// Threads that have pieces of their own on their way.
inline int drivers_of(const FftOptions& options) {
  return options.thread_mode == ThreadMode::funneled ? 1 : options.threads;
}

}  // namespace sidestream::fft
