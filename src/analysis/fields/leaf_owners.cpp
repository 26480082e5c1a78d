#include "analysis/fields/leaf_owners.hpp"

#include <fmt/format.h>

#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

LeafOwners::LeafOwners(int rank, std::span<const mesh::Layout> levels, const mesh::Geometry& root) {
  for (const mesh::Layout& layout : levels) {
    const int level = static_cast<int>(levels_.size());
    levels_.push_back({layout, root.refined(level), {layout, rank}, !layout.boxes_of(rank).empty()});
  }
}

int LeafOwners::owner(const Point& point) const {
  for (int level = levels() - 1; level >= 0; --level) {
    const std::int32_t box = layout(level).find(cell_of(geometry(level), point));
    if (box >= 0) return layout(level).owner(box);
  }
  return -1;
}

Point position_inside(const LeafOwners& owners, std::int64_t id, const Point& position) {
  const mesh::Geometry& geometry = owners.geometry(0);
  const auto require = [&](bool condition, const char* what) {
    if (!condition)
      throw core::Error(fmt::format("particle {} at ({}, {}, {}) {}", id, position[0], position[1], position[2], what));
  };
  Point inside = position;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double length = geometry.length[axis];
    if (geometry.periodic[axis]) inside[axis] = mesh::wrapped_coordinate(position[axis], length);
    require(inside[axis] >= 0.0 && inside[axis] < length, "is outside of the domain");
  }
  require(owners.here(inside).level >= 0 || owners.owner(inside) >= 0, "is outside of all blocks");
  return inside;
}

}  // namespace sidestream::analysis
