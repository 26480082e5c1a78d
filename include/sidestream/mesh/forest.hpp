#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::mesh {

/// A leaf of the forest: the block at `position` (in blocks of its level).
struct BlockKey {
  std::int32_t level = 0;
  Int3 position;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

/// Blocks of `block`^3 cells (a flat axis of one cell has blocks one cell thick) over a root grid, in Morton order
/// within the order of the root grid. A uniform grid is a forest without refinement.
class Forest {
 public:
  /// Throws core::Error when `cells` is not a multiple of `block` on some axis (axes of one cell excepted).
  Forest(Int3 cells, std::int32_t block, Periodicity periodic = {true, true, true});

  std::span<const BlockKey> leaves() const { return leaves_; }
  std::int32_t block() const { return block_; }
  Int3 cells(int level = 0) const;
  int finest_level() const { return 0; }

  /// The cells of a leaf.
  Box box(const BlockKey& key) const;

  /// The leaves of `level` dealt to `ranks` ranks as contiguous pieces of the Morton order of nearly equal weight
  /// (all leaves alike when `weights` is empty). Ranks beyond the number of leaves own nothing.
  Layout layout(int ranks, std::span<const double> weights = {}, int level = 0) const;

 private:
  Int3 cells_, block_extent_;
  std::int32_t block_ = 0;
  Periodicity periodic_{};
  std::vector<BlockKey> leaves_;
};

}  // namespace sidestream::mesh
