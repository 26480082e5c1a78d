#pragma once

#include <cstdint>
#include <vector>

#include "io/formats/flash/flash_source.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// Where the blocks of a FLASH file lie.
struct FlashBlocks {
  std::int64_t count = 0;
  mesh::Int3 cells;                             ///< of each block
  std::vector<std::vector<std::int64_t>> rows;  ///< of the boxes of each level in the arrays of the file
};

/// Finds the levels from the bounding boxes and refinement levels, and fills `levels`, `ratios`, `geometry` and
/// `origin` of `description`; level 0 is the coarsest that has blocks. The geometry's length is kept where it is given
/// (not zero). Throws a core::Error unless the blocks of each level are equally large and lie on a grid of blocks.
FlashBlocks read_flash_blocks(const FlashSource& source, FileDescription& description);

}  // namespace sidestream::io
