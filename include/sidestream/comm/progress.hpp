#pragma once

#include <functional>

#include "sidestream/comm/communicator.hpp"

// Where MPI moves data only when it is called, a transfer between two groups of ranks stands still while these compute.
// So computations say now and then that it is a good moment, and whoever has something under way takes it. The
// communicator that a computation is given carries this along; nobody needs to know the other.
namespace sidestream::comm {

/// A duplicate of `comm` on which `progress` calls `work`, and so it does on all that is duplicated or split from it.
/// `work` is local and does not throw, and what it refers to lives as long as it may be called. Collective.
Communicator with_progress(const Communicator& comm, std::function<void()> work);

/// A duplicate on which `progress` does nothing: for another thread than the one that computes. Collective.
Communicator without_progress(const Communicator& comm);

/// Says that now is a good moment: between two pieces of a long computation, on the thread that computes. The members
/// of Communicator that reduce or exchange say so themselves, first. Local; some ten nanoseconds where nobody listens.
void progress(const Communicator& comm);

}  // namespace sidestream::comm
