#pragma once

#include <functional>
#include <string>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::io {

/// Makes the folder `path` appear complete or not at all: `write(temporary)` fills a folder of another name, which is
/// then moved into place. `write` is called on all ranks and, when it fails, throws on all of them; then nothing is
/// left behind. Collective. Unless `is_durable`, the system may lose the new name in a crash.
void write_folder_atomically(const comm::Communicator& comm, const std::string& path,
                             const std::function<void(const std::string& temporary)>& write, bool is_durable = true);

}  // namespace sidestream::io
