#include "couple/async/cores.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <future>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

std::vector<int> present_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  core::require(sched_getaffinity(0, sizeof set, &set) == 0, "a thread may ask where it runs");
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

// The system leaves out those that it does not have, and refuses if none is left.
bool runs_on(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores)
    if (core < CPU_SETSIZE) CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0 && std::ranges::is_permutation(present_cores(), cores);
}

}  // namespace

void run_on(const std::vector<int>& cores) {
  if (cores.empty() || runs_on(cores)) return;
  std::vector<int> all(CPU_SETSIZE);
  for (int core = 0; core < CPU_SETSIZE; ++core) all[static_cast<std::size_t>(core)] = core;
  runs_on(all);
  throw core::Error(fmt::format("the threads cannot run on the cores {}", fmt::join(cores, ", ")),
                    "key `coupling.cores`",
                    fmt::format("this process may have: {}; each is named once", fmt::join(present_cores(), ", ")));
}

void check_cores(const std::vector<int>& cores) {
  std::async(std::launch::async, run_on, cores).get();
}

}  // namespace sidestream::couple
