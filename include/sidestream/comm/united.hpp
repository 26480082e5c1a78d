#pragma once

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

/// A communicator of all ranks of `comm`: a duplicate, or, of an intercommunicator, one of both groups, each in its
/// order; a group that `comes_first` (alike on its ranks) and faces one that does not has the lower ranks, else MPI
/// chooses. Collective on both groups. Throws core::Error where `comm` is none.
Communicator united(MPI_Comm comm, bool comes_first = false);

/// Whether `comm` joins two groups.
bool joins_groups(MPI_Comm comm);

}  // namespace sidestream::comm
