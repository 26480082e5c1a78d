#include "sidestream/comm/progress.hpp"

#include <memory>
#include <utility>

#include "comm/inherit_progress.hpp"

namespace sidestream::comm {

namespace {

// What a communicator carries, as an attribute of MPI's; each duplicate shares it.
using Work = std::shared_ptr<const std::function<void()>>;

int share_work(MPI_Comm /*old*/, int /*key*/, void* /*state*/, void* old_work, void* new_work, int* is_copied) {
  *static_cast<void**>(new_work) = new Work(*static_cast<const Work*>(old_work));
  *is_copied = 1;
  return MPI_SUCCESS;
}

int drop_work(MPI_Comm /*comm*/, int /*key*/, void* work, void* /*state*/) {
  delete static_cast<Work*>(work);
  return MPI_SUCCESS;
}

int key_of_work() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(share_work, drop_work, &made, nullptr), "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

const Work* work_of(MPI_Comm comm) {
  void* work = nullptr;
  int is_there = 0;
  check(MPI_Comm_get_attr(comm, key_of_work(), &work, &is_there), "MPI_Comm_get_attr");
  return is_there != 0 ? static_cast<const Work*>(work) : nullptr;
}

void set_work(MPI_Comm comm, Work work) {
  check(MPI_Comm_set_attr(comm, key_of_work(), std::make_unique<Work>(std::move(work)).release()), "MPI_Comm_set_attr");
}

}  // namespace

Communicator with_progress(const Communicator& comm, std::function<void()> work) {
  Communicator copy = comm.duplicate();
  set_work(copy.raw(), std::make_shared<const std::function<void()>>(std::move(work)));
  return copy;
}

Communicator without_progress(const Communicator& comm) {
  Communicator copy = comm.duplicate();
  if (work_of(copy.raw()) != nullptr) check(MPI_Comm_delete_attr(copy.raw(), key_of_work()), "MPI_Comm_delete_attr");
  return copy;
}

void progress(const Communicator& comm) {
  if (const Work* work = work_of(comm.raw())) (**work)();
}

void inherit_progress(MPI_Comm from, MPI_Comm part) {
  if (const Work* work = work_of(from)) set_work(part, *work);
}

}  // namespace sidestream::comm
