#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::mesh {

/// A block of the forest: the one at `position` (counted in blocks of its level).
struct BlockKey {
  std::int32_t level = 0;
  Int3 position;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

/// What a leaf asks for in `Forest::adapted`.
enum class Adaptation : std::uint8_t { coarsen, keep, refine };

/// Trees of blocks over a root grid of blocks of `block`^3 cells: a refined block has eight children of as many cells,
/// half as large (four or two where axes are flat: an axis of one cell is never refined and has blocks one cell thick).
/// The leaves tile the domain. A level's blocks, refined ones and leaves, are numbered in Morton order. Neighbours
/// across faces, edges and corners differ by at most one level (2:1 balance), periodic images included. A uniform grid
/// is a forest without refinement. Immutable and replicated: 21 bytes a block.
class Forest {
 public:
  /// Without refinement. Throws core::Error when `cells` is not a multiple of `block` on some axis (axes of one cell
  /// excepted).
  Forest(Int3 cells, std::int32_t block, Periodicity periodic = {true, true, true});

  /// The forest with these `refined` blocks, such as a checkpoint names. Throws core::Error when they are no forest.
  Forest(Int3 cells, std::int32_t block, Periodicity periodic, std::span<const BlockKey> refined);

  std::int32_t block() const { return block_; }
  const Periodicity& periodic() const { return periodic_; }
  int finest_level() const { return static_cast<int>(levels_.size()) - 1; }
  /// Cells, and blocks, of the whole domain at the resolution of `level`.
  Int3 cells(int level = 0) const;
  Int3 blocks(int level = 0) const;

  /// Number of blocks of `level`, refined ones included, and of all levels' leaves.
  std::int32_t size(int level) const { return static_cast<std::int32_t>(at(level).code.size()); }
  std::int64_t leaves() const;
  BlockKey key(int level, std::int32_t index) const {
    return {level, at(level).position[static_cast<std::size_t>(index)]};
  }
  bool is_leaf(int level, std::int32_t index) const { return at(level).refined[static_cast<std::size_t>(index)] == 0; }
  /// Whether the block is a leaf or touches one (across a face, an edge or a corner): what is left out is never seen
  /// from a leaf.
  bool is_near_leaf(int level, std::int32_t index) const;
  Box box(int level, std::int32_t index) const { return box(key(level, index)); }
  Box box(const BlockKey& key) const;

  /// The index of a block among those of its level; -1 when there is none (or its position is outside). O(log blocks).
  std::int32_t find(const BlockKey& key) const;
  /// The block beside `key`, `offset` blocks away (wrapped on periodic axes): -1 when it is not in the forest, -2 when
  /// it is outside the domain.
  std::int32_t neighbor(const BlockKey& key, Int3 offset) const;
  /// The block of the next coarser level that holds the place beside `key` where `neighbor` finds none.
  std::int32_t coarser_neighbor(const BlockKey& key, Int3 offset) const;
  /// The first child of a refined block among the blocks of the next level; its siblings follow it.
  std::int32_t first_child(const BlockKey& key) const;
  int children() const { return 1 << active_axes_; }

  /// The forest after one round of changes. `wishes[level][index]` is what each block asks for (refined blocks are not
  /// asked). A leaf that asks for it is refined if it is below `highest_level`; siblings are removed when all of them
  /// are leaves above `lowest_level` that ask for it; whatever 2:1 balance needs is refined as well, or stays.
  Forest adapted(const std::vector<std::vector<Adaptation>>& wishes, int lowest_level, int highest_level) const;

  /// The blocks of `level`, refined ones included and in their order, dealt to `ranks` ranks as contiguous pieces of
  /// nearly equal weight (all alike when `weights` is empty). Ranks beyond the number of blocks own nothing.
  Layout layout(int ranks, int level = 0, std::span<const double> weights = {}) const;

  friend bool operator==(const Forest& a, const Forest& b);

 private:
  struct Level {
    std::vector<std::uint64_t> code;  // ascending Morton codes of the positions
    std::vector<Int3> position;
    std::vector<std::uint8_t> refined;
  };
  const Level& at(int level) const { return levels_[static_cast<std::size_t>(level)]; }
  using Codes = std::vector<std::uint64_t>;
  std::optional<Int3> position_beside(const BlockKey& key, Int3 offset) const;
  void set_cells(Int3 cells);
  void grow(std::vector<Codes> refined);
  void add_children(Int3 position, Codes& codes) const;
  std::vector<std::int32_t> parents_along(int axis, std::int32_t position, std::int32_t blocks) const;
  void require_neighbors(std::vector<Codes>& refined) const;
  bool may_lose_children(std::size_t level, std::size_t index, const std::vector<Adaptation>& wishes,
                         int lowest_level) const;

  Int3 cells_, block_extent_;
  std::int32_t block_ = 0;
  int active_axes_ = 0;
  Periodicity periodic_{};
  std::vector<Level> levels_;
};

/// Throws a core::Error unless the blocks of `forest` tile the domain, each refined block has all its children, and
/// neighbours differ by at most one level. O(blocks log blocks).
void check(const Forest& forest);

}  // namespace sidestream::mesh
