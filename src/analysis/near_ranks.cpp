#include "analysis/near_ranks.hpp"

#include <algorithm>
#include <cmath>

namespace sidestream::analysis {

namespace {

// The distance, made so much larger that rounding of positions and cells does not matter.
double safe_reach(const mesh::Geometry& geometry, double reach) {
  return reach * (1.0 + linking_margin) + 1e-12 * *std::max_element(geometry.length.begin(), geometry.length.end());
}

}  // namespace

NearRanks::NearRanks(int rank, std::span<const mesh::Layout> levels, const mesh::Geometry& root, double reach)
    : rank_(rank), reach_(safe_reach(root, reach)) {
  for (int l = 0; l < static_cast<int>(levels.size()); ++l) {
    const mesh::Layout& layout = levels[static_cast<std::size_t>(l)];
    Level& level = levels_.emplace_back(Level{layout, root.refined(l), {layout, rank}, {}});
    for (const std::int32_t index : layout.boxes_of(rank)) {
      Inside inside{};
      for (int axis = 0; axis < 3; ++axis) {
        const double side = level.geometry.cell_size(axis);
        inside.low[static_cast<std::size_t>(axis)] = layout.box(index).lo[axis] * side + reach_;
        inside.high[static_cast<std::size_t>(axis)] = layout.box(index).hi[axis] * side - reach_;
      }
      level.blocks.push_back(inside);
    }
  }
}

// The cells of a level that come within reach of a point, on periodic axes also beyond the domain.
mesh::Box NearRanks::region(const Level& level, const Point& point) const {
  mesh::Box box = level.geometry.domain;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const bool is_periodic = level.geometry.periodic[a];
    if (is_periodic && 2.0 * reach_ >= level.geometry.length[a]) continue;
    const double side = level.geometry.cell_size(axis), last = box.hi[axis] - 1;
    double low = std::floor((point[a] - reach_) / side), high = std::floor((point[a] + reach_) / side);
    if (!is_periodic) {
      low = std::clamp(low, 0.0, last);
      high = std::clamp(high, 0.0, last);
    }
    box.lo[axis] = static_cast<std::int32_t>(low);
    box.hi[axis] = static_cast<std::int32_t>(high) + 1;
  }
  return box;
}

void NearRanks::find(const Point& point) {
  found_.clear();
  for (const Level& level : levels_)
    level.layout.for_each_image_meeting(region(level, point), [&](std::int32_t index, mesh::Int3) {
      const std::int32_t owner = level.layout.owner(index);
      if (owner != rank_ && std::find(found_.begin(), found_.end(), owner) == found_.end()) found_.push_back(owner);
    });
}

}  // namespace sidestream::analysis
