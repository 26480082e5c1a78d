#include "sidestream/comm/threads.hpp"

#include <sched.h>

#include <algorithm>

#include "sidestream/core/error.hpp"

namespace sidestream::comm {

ThreadLevel thread_level() {
  int level = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  if (level == MPI_THREAD_MULTIPLE) return ThreadLevel::multiple;
  if (level == MPI_THREAD_SERIALIZED) return ThreadLevel::serialized;
  return level == MPI_THREAD_FUNNELED ? ThreadLevel::funneled : ThreadLevel::single;
}

bool allows_threads() {
  return thread_level() == ThreadLevel::multiple;
}

int cores_of_rank(const Communicator& comm) {
  cpu_set_t own;
  CPU_ZERO(&own);
  core::require(sched_getaffinity(0, sizeof own, &own) == 0, "a process may ask where it runs");
  const std::vector<cpu_set_t> of_node = comm.split_by_node().all_gather(own);
  const auto sharing = std::ranges::count_if(of_node, [&](const cpu_set_t& other) { return CPU_EQUAL(&own, &other); });
  return static_cast<int>(comm.min(static_cast<std::int64_t>(std::max<std::int64_t>(1, CPU_COUNT(&own) / sharing))));
}

}  // namespace sidestream::comm
