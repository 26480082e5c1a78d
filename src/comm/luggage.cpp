#include "comm/luggage.hpp"

#include <utility>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

namespace {

int copy_luggage(MPI_Comm /*old*/, int /*key*/, void* /*state*/, void* old_luggage, void* new_luggage, int* is_copied) {
  *static_cast<void**>(new_luggage) = new Luggage(*static_cast<const Luggage*>(old_luggage));
  *is_copied = 1;
  return MPI_SUCCESS;
}

int drop_luggage(MPI_Comm /*comm*/, int /*key*/, void* luggage, void* /*state*/) {
  delete static_cast<Luggage*>(luggage);
  return MPI_SUCCESS;
}

int key_of_luggage() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(copy_luggage, drop_luggage, &made, nullptr), "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

}  // namespace

const Luggage* luggage_of(MPI_Comm comm) {
  void* luggage = nullptr;
  int is_there = 0;
  check(MPI_Comm_get_attr(comm, key_of_luggage(), &luggage, &is_there), "MPI_Comm_get_attr");
  return is_there != 0 ? static_cast<const Luggage*>(luggage) : nullptr;
}

void set_luggage(MPI_Comm comm, Luggage luggage) {
  check(MPI_Comm_set_attr(comm, key_of_luggage(), std::make_unique<Luggage>(std::move(luggage)).release()),
        "MPI_Comm_set_attr");
}

void inherit_luggage(MPI_Comm from, MPI_Comm part) {
  if (const Luggage* luggage = luggage_of(from)) set_luggage(part, *luggage);
}

}  // namespace sidestream::comm
