#pragma once

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

/// Leaves `comm` to MPI: it is never freed, so that no later communicator gets its number, and with that messages which
/// nobody took. Never allocates.
void abandon(Communicator comm) noexcept;

}  // namespace sidestream::comm
