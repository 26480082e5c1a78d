#pragma once

namespace sidestream::comm {

/// Whether several threads of this process may call MPI at a time.
bool allows_threads();

}  // namespace sidestream::comm
