#include "sidestream/comm/threads.hpp"

#include <gtest/gtest.h>
#include <sched.h>

namespace sidestream::comm {
namespace {

cpu_set_t own_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

TEST(Threads, HaveTheLevelThatTheEnvironmentAskedFor) {
  EXPECT_EQ(thread_level(), ThreadLevel::multiple);
  EXPECT_TRUE(allows_threads());
}

TEST(Threads, OfARankHaveItsShareOfTheCores) {
  const Communicator comm(MPI_COMM_WORLD);
  const cpu_set_t before = own_cores();

  EXPECT_EQ(cores_of_rank(Communicator(MPI_COMM_SELF)), CPU_COUNT(&before));
  EXPECT_GE(cores_of_rank(comm), 1);
  EXPECT_LE(cores_of_rank(comm), std::max(1, CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
  EXPECT_EQ(cores_of_rank(comm), 1);  // whether it is theirs alone or they share it
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace sidestream::comm
