#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/picture.hpp"

namespace sidestream::io {

/// Writes `NAME.dzi` and `NAME_files/LEVEL/COLUMN_ROW.png` into `folder`, as Deep Zoom has them: tiles of 256 pixels
/// without overlap, level 0 of one pixel, each level half as large as the next. Ranks share the picture in columns or
/// rectangles of whole tiles; each paints its part a row of tiles at a time and halves it at once, so that it holds one
/// row of tiles, one of the level above, and so on. The same bytes on any ranks. Collective; throws on all ranks.
void write_pyramid(const comm::Communicator& comm, const mesh::Picture& picture, const std::string& folder);

/// How many levels its pyramid has.
int pyramid_levels(const mesh::Picture& picture);

}  // namespace sidestream::io
