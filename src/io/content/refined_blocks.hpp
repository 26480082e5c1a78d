#pragma once

#include <span>
#include <vector>

#include "sidestream/mesh/forest.hpp"

namespace sidestream::io {

/// The blocks that have children, in the order of `levels`, the layouts of all blocks of each level
/// (leaves and refined ones, coarsest first): what a `mesh::Forest` is made from again. A block counts as refined when
/// the next level has a block at its lower corner. Local, O(blocks). Throws core::Error where boxes are no blocks.
std::vector<mesh::BlockKey> refined_blocks(std::span<const mesh::Layout> levels);

/// `leaves`, the layouts of the leaves of each level, with the blocks that finer ones cover, each owned by one of the
/// ranks that own its children. Local, O(blocks).
std::vector<mesh::Layout> with_refined_blocks(std::span<const mesh::Layout> leaves);

}  // namespace sidestream::io
