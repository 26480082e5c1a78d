#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/picture.hpp"

namespace sidestream::io {

/// The folder of the pictures beside the result `path`: 00040.nc -> 00040.pictures.
std::string pictures_path(const std::string& path);

/// Writes the files of a picture for the result `path` into a folder of a temporary name: as the picture says, NAME.dzi
/// with NAME_files and a page that shows them, NAME.png, and NAME_frame.png. Collective; throws on all ranks, and then
/// leaves nothing behind. Local memory: a row of tiles of a rank's part.
void write_pictures(const comm::Communicator& comm, const mesh::Picture& picture, const std::string& path);

/// Gives what was written its name, in the place of what had it. Nobody waits for the disk. Local.
void keep_pictures(const std::string& path);
/// Removes it instead, silently where it is not there. Local.
void drop_pictures(const std::string& path) noexcept;

}  // namespace sidestream::io
