#pragma once

#include <cstdint>
#include <vector>

#include "analysis/fields/leaf_owners.hpp"
#include "analysis/friends_of_friends/friends.hpp"

namespace sidestream::analysis {

/// Tells which other ranks have blocks near a point.
class NearRanks {
 public:
  /// `owners`, which must outlive this object, are those of `rank`; `reach` is a distance.
  NearRanks(int rank, const LeafOwners& owners, double reach);

  /// Calls `f(rank)` once for each other rank with a block that comes within `reach` of the point, or a little more.
  /// The point is in a block of this rank.
  template <typename F>
  void for_each(const Point& point, F f) {
    const auto [level, block] = owners_.here(point);
    if (is_inside(inside_[static_cast<std::size_t>(level)][static_cast<std::size_t>(block)], point)) return;
    find(point);
    for (const std::int32_t rank : found_) f(rank);
  }

 private:
  // Points of a block that nothing else is near.
  struct Inside {
    Point low{}, high{};
  };
  static bool is_inside(const Inside& block, const Point& point) {
    bool is = true;
    for (std::size_t axis = 0; axis < 3; ++axis)
      is = is && point[axis] >= block.low[axis] && point[axis] <= block.high[axis];
    return is;
  }
  mesh::Box region(const mesh::Geometry& geometry, const Point& point) const;
  void find(const Point& point);

  std::int32_t rank_;
  const LeafOwners& owners_;
  double reach_;
  std::vector<std::vector<Inside>> inside_;  // of each level
  std::vector<std::int32_t> found_;
};

}  // namespace sidestream::analysis
