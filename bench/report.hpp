#pragma once

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"

/// What every benchmark needs: clocks, sums over ranks, and the head of its report.
namespace sidestream::bench {

/// User and system time of this process.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double peak_memory_bytes() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return 1024.0 * static_cast<double>(use.ru_maxrss);
}

/// Sum over all ranks.
inline double total(const comm::Communicator& comm, double mine) {
  double sum = 0.0;
  for (const double part : comm.all_gather(mine)) sum += part;
  return sum;
}

/// Minimum, median and maximum.
inline nlohmann::json spread(std::vector<double> values) {
  std::ranges::sort(values);
  return {{"min", values.front()},
          {"median", values[values.size() / 2]},
          {"max", values.back()},
          {"repeats", values.size()}};
}

constexpr double microsecond = 1e-6, nanosecond = 1e-9;

/// The spread over `repeats` calls of `work` of the CPU time of all ranks over `items`, in units of `unit` seconds.
template <typename F>
nlohmann::json cpu_time_each(const comm::Communicator& comm, double items, double unit, int repeats, F work) {
  std::vector<double> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    comm.barrier();
    const double before = cpu_seconds();
    work();
    times.push_back(total(comm, cpu_seconds() - before) / (items * unit));
  }
  return spread(std::move(times));
}

inline std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

/// Benchmark, machine, compiler and ranks.
inline nlohmann::json header(const comm::Communicator& comm, const std::string& name) {
  return {{"benchmark", name},
          {"processor", processor()},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"compiler", "gcc " __VERSION__},
          {"ranks", comm.size()}};
}

}  // namespace sidestream::bench
