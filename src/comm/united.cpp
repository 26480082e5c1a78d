#include "sidestream/comm/united.hpp"

#include "sidestream/core/error.hpp"

namespace sidestream::comm {

bool joins_groups(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    throw core::Error("there is no communicator", "", "MPI_COMM_NULL has no ranks; MPI_COMM_WORLD has all");
  int is_inter = 0;
  check(MPI_Comm_test_inter(comm, &is_inter), "MPI_Comm_test_inter");
  return is_inter != 0;
}

Communicator united(MPI_Comm comm, bool comes_first) {
  if (!joins_groups(comm)) return Communicator(comm);
  MPI_Comm merged = MPI_COMM_NULL;
  check(MPI_Intercomm_merge(comm, comes_first ? 0 : 1, &merged), "MPI_Intercomm_merge");
  Communicator all(merged);
  MPI_Comm_free(&merged);
  return all;
}

}  // namespace sidestream::comm
