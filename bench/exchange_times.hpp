#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "report.hpp"
#include "sidestream/core/timer.hpp"

/// Timing of an exchange against a memory copy in the same run.
namespace sidestream::bench {

constexpr int repeats = 15;

// Wall time on the slowest rank, and user and system time of all ranks (waiting included): the least of all repeats.
struct Times {
  std::vector<double> wall_s, cpu_s;

  double best() const { return *std::ranges::min_element(wall_s); }
  double best_cpu() const { return *std::ranges::min_element(cpu_s); }
};

template <typename F>
Times times(const comm::Communicator& comm, F work) {
  Times times;
  work();
  for (int n = 0; n < repeats; ++n) {
    comm.barrier();
    const core::Stopwatch watch;
    const double before = cpu_seconds();
    work();
    times.cpu_s.push_back(total(comm, cpu_seconds() - before));
    times.wall_s.push_back(comm.max(watch.seconds()));
  }
  return times;
}

nlohmann::json summary(const Times& of, const Times& copy, double bytes) {
  return {{"wall_s", spread(of.wall_s)},
          {"cpu_s", spread(of.cpu_s)},
          {"gb_per_s", 1e-9 * bytes / of.best()},
          {"ratio_to_memory_copy", copy.best() / of.best()},
          {"cpu_ratio_to_memory_copy", copy.best_cpu() / of.best_cpu()}};
}

}  // namespace sidestream::bench
