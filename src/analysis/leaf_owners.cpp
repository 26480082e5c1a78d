#include "analysis/leaf_owners.hpp"

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

}  // namespace sidestream::analysis
