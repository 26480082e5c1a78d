#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/picture.hpp"

namespace sidestream::io {

/// Writes the picture, `halvings` times halved, as one PNG file. Ranks paint and pack pieces of 64 rows in turn, of
/// fewer where the picture is halved or has more than a million columns, and write them behind one another. The same
/// bytes on any ranks. Collective; throws on all ranks.
void write_whole_picture(const comm::Communicator& comm, const mesh::Picture& picture, int halvings,
                         const std::string& path);

}  // namespace sidestream::io
