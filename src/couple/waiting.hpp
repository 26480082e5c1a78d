#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

// Waits that leave the processor to others: a rank of one group may wait long for the other, and MPI's own waits spin.
namespace sidestream::couple {

using Microseconds = std::chrono::microseconds;

/// Between two looks: short for a transfer that is under way, long for work of the other group.
constexpr Microseconds short_pause{20}, long_pause{1000};

/// For waits on a rank that itself gives up in time and tells.
constexpr double forever_s = std::numeric_limits<double>::infinity();

/// Asks `is_done` until it holds, at first without a pause, then with pauses up to `longest`. False once `timeout_s`
/// have passed.
template <typename F>
bool wait_until(F is_done, double timeout_s, Microseconds longest = long_pause) {
  constexpr int looks = 100;
  const core::Stopwatch watch;
  for (Microseconds pause{1};; pause = std::min(2 * pause, longest)) {
    for (int look = 0; look < looks; ++look)
      if (is_done()) return true;
    if (watch.seconds() > timeout_s) return false;
    std::this_thread::sleep_for(pause);
  }
}

/// Completes `requests`; throws core::Error that names `whom` after `timeout_s`.
void wait_for(std::span<MPI_Request> requests, double timeout_s, const std::string& whom,
              Microseconds longest = long_pause);

/// `text` (plain bytes) of rank 0 on every rank of `group`. Collective.
std::string broadcast_patiently(const comm::Communicator& group, std::string text);

/// What `words` finds on rank 0, on every rank of `group`; the others leave their processors to others meanwhile. What
/// it throws is thrown on all. Collective.
template <typename F>
std::string told_by_first(const comm::Communicator& group, F words) {
  std::string found;
  std::exception_ptr problem;
  if (group.rank() == 0) try {
      found = words();
    } catch (const std::exception&) {
      problem = std::current_exception();
    }
  found = broadcast_patiently(group, std::move(found));
  group.agree_on([&] {
    if (problem) std::rethrow_exception(problem);
  });
  return found;
}

/// The error of a wait that took too long.
core::Error too_long(const std::string& whom, double timeout_s);

/// Throws an error that all ranks of `group` throw together, of which only the first reports it. Local.
[[noreturn]] void throw_together(const comm::Communicator& group, core::Error error);

}  // namespace sidestream::couple
