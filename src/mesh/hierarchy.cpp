#include "sidestream/mesh/hierarchy.hpp"

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

Hierarchy::Hierarchy(Forest forest, Geometry root, int ranks, const std::vector<std::vector<double>>& weights)
    : forest_(std::move(forest)) {
  core::require(root.domain == domain_of(forest_.cells()) && root.periodic == forest_.periodic(),
                "a hierarchy has the cells and boundaries of its forest");
  for (int level = 0; level <= finest_level(); ++level) {
    const auto l = static_cast<std::size_t>(level);
    layouts_.push_back(forest_.layout(ranks, level, weights.empty() ? std::span<const double>() : weights[l]));
    geometries_.push_back(root.refined(level));
  }
}

int Hierarchy::coarsest_leaf_level() const {
  for (int level = 0; level < finest_level(); ++level)
    for (std::int32_t b = 0; b < forest_.size(level); ++b)
      if (is_leaf(level, b)) return level;
  return finest_level();
}

Layout Hierarchy::leaf_layout(int level) const {
  if (finest_level() == 0) return layouts_.front();
  const Layout& all = layout(level);
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t b = 0; b < all.size(); ++b)
    if (is_leaf(level, b)) {
      boxes.push_back(all.box(b));
      owners.push_back(all.owner(b));
    }
  return {all.domain(), all.periodic(), std::move(boxes), std::move(owners), level};
}

Layout coarsened(const Layout& layout) {
  const Int3 cells = layout.domain().extent();
  const auto half = [&](Box box) {
    for (int axis = 0; axis < 3; ++axis)
      if (cells[axis] > 1) {
        box.lo[axis] >>= 1;
        box.hi[axis] >>= 1;
      }
    return box;
  };
  std::vector<Box> boxes;
  boxes.reserve(static_cast<std::size_t>(layout.size()));
  for (const Box& box : layout.boxes()) boxes.push_back(half(box));
  return {half(layout.domain()),
          layout.periodic(),
          std::move(boxes),
          {layout.owners().begin(), layout.owners().end()},
          layout.level() - 1};
}

LevelLayouts::LevelLayouts(const Hierarchy& hierarchy) {
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    blocks.push_back(hierarchy.layout(level));
    leaves.push_back(hierarchy.leaf_layout(level));
  }
}

}  // namespace sidestream::mesh
