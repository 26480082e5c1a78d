#pragma once

#include <optional>

#include "sidestream/mesh/forest.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// The forest of blocks of `block` cells a side that has the resolution of `file` everywhere (and more where whole
/// groups of siblings or 2:1 balance ask for it). Local, O(blocks). Throws core::Error when the blocks do not fit the
/// domain or a level is not twice as fine as the one before.
mesh::Forest forest_of(const mesh::Snapshot& file, std::int32_t block);

/// The largest power of two, up to 64, at whose multiples all boxes begin and end (flat axes aside); nothing when that
/// is below 2. Local, O(boxes).
std::optional<std::int32_t> block_of(const mesh::Snapshot& file);

}  // namespace sidestream::io
