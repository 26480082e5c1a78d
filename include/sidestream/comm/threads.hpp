#pragma once

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

/// What MPI lets the threads of this process do: there are none but one; one calls MPI; several do, one at a time;
/// several do, at a time.
enum class ThreadLevel { single, funneled, serialized, multiple };

ThreadLevel thread_level();

/// Whether several threads of this process may call MPI at a time.
bool allows_threads();

/// Cores that a rank of `comm` has at least: those that it may run on, divided among the ranks of its node that may run
/// on the same. Collective, and the same on all ranks.
int cores_of_rank(const Communicator& comm);

}  // namespace sidestream::comm
