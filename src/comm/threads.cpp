#include "sidestream/comm/threads.hpp"

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

bool allows_threads() {
  int level = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace sidestream::comm
