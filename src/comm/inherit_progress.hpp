#pragma once

#include <mpi.h>

namespace sidestream::comm {

/// MPI hands attributes on to duplicates, but not to what is split off.
void inherit_progress(MPI_Comm from, MPI_Comm part);

}  // namespace sidestream::comm
