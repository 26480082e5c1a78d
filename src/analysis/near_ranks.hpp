#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/friends.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/redistribute/owned_cells.hpp"

namespace sidestream::analysis {

/// Tells which other ranks have blocks near a point.
class NearRanks {
 public:
  /// `levels` are the leaves of each level, `root` the geometry of the coarsest one; `reach` a distance.
  NearRanks(int rank, std::span<const mesh::Layout> levels, const mesh::Geometry& root, double reach);

  /// Whether a block of this rank holds the point, which lies in the domain.
  bool owns(const Point& point) const { return block_of(point) != nullptr; }

  /// Calls `f(rank)` once for each other rank with a block that comes within `reach` of the point, or a little more.
  /// The point is one that this rank owns.
  template <typename F>
  void for_each(const Point& point, F f) {
    if (is_inside(*block_of(point), point)) return;
    find(point);
    for (const std::int32_t rank : found_) f(rank);
  }

 private:
  // Points of a block that nothing else is near.
  struct Inside {
    Point low, high;
  };
  struct Level {
    mesh::Layout layout;
    mesh::Geometry geometry;
    redistribute::OwnedCells own;
    std::vector<Inside> blocks;
  };

  const Inside* block_of(const Point& point) const {
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      if (level->blocks.empty()) continue;
      const std::int32_t block = level->own.block_of(cell_of(level->geometry, point));
      if (block >= 0) return &level->blocks[static_cast<std::size_t>(block)];
    }
    return nullptr;
  }
  static bool is_inside(const Inside& block, const Point& point) {
    bool is = true;
    for (std::size_t axis = 0; axis < 3; ++axis)
      is = is && point[axis] >= block.low[axis] && point[axis] <= block.high[axis];
    return is;
  }
  mesh::Box region(const Level& level, const Point& point) const;
  void find(const Point& point);

  std::int32_t rank_;
  double reach_;
  std::vector<Level> levels_;
  std::vector<std::int32_t> found_;
};

}  // namespace sidestream::analysis
