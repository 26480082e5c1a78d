#pragma once

#include <functional>
#include <string>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::io {

/// Sends the bytes of the file `own` (none where it is empty) to the rank `partner`, in pieces of some MiB, which
/// writes them as `path_of` this rank, durably. Collective; all ranks throw together.
void write_copies(const comm::Communicator& comm, const std::string& own, int partner,
                  const std::function<std::string(int rank)>& path_of);

}  // namespace sidestream::io
