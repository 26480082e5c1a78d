#include "sidestream/comm/before_finalize.hpp"

#include <mpi.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

namespace {

int do_work(MPI_Comm, int, void* value, void*) {
  const auto work = std::exchange(*static_cast<std::function<void()>*>(value), {});
  try {
    if (work) work();
  } catch (const std::exception&) {
    return MPI_SUCCESS;
  }
  return MPI_SUCCESS;
}

}  // namespace

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before all else (MPI 3.1, 8.7.1). In a child that the process
// has forked it may be called too, and nothing is done there.
BeforeFinalize::BeforeFinalize(std::function<void()> work) : key_(MPI_KEYVAL_INVALID) {
  work_ = [work = std::move(work), process = ::getpid()] {
    if (::getpid() == process) work();
  };
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, do_work, &key_, nullptr), "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key_, &work_), "MPI_Comm_set_attr");
}

BeforeFinalize::~BeforeFinalize() {
  work_ = {};
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over != 0) return;
  MPI_Comm_delete_attr(MPI_COMM_SELF, key_);
  MPI_Comm_free_keyval(&key_);
}

}  // namespace sidestream::comm
