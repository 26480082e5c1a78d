#include "analysis/friends_of_friends/ranks_near_points.hpp"

#include <algorithm>
#include <cmath>

namespace sidestream::analysis {

namespace {

// The distance, made so much larger that rounding of positions and cells does not matter.
double safe_reach(const mesh::Geometry& geometry, double reach) {
  return reach * (1.0 + linking_margin) + 1e-12 * *std::max_element(geometry.length.begin(), geometry.length.end());
}

}  // namespace

NearRanks::NearRanks(int rank, const LeafOwners& owners, double reach)
    : rank_(rank), owners_(owners), reach_(safe_reach(owners.geometry(0), reach)) {
  for (int level = 0; level < owners.levels(); ++level) {
    auto& blocks = inside_.emplace_back();
    for (const std::int32_t index : owners.layout(level).boxes_of(rank)) {
      Inside& inside = blocks.emplace_back();
      for (int axis = 0; axis < 3; ++axis) {
        const double side = owners.geometry(level).cell_size(axis);
        const mesh::Box& box = owners.layout(level).box(index);
        inside.low[static_cast<std::size_t>(axis)] = box.lo[axis] * side + reach_;
        inside.high[static_cast<std::size_t>(axis)] = box.hi[axis] * side - reach_;
      }
    }
  }
}

// The cells of a level that come within reach of a point, on periodic axes also beyond the domain.
mesh::Box NearRanks::region(const mesh::Geometry& geometry, const Point& point) const {
  mesh::Box box = geometry.domain;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (geometry.periodic[a] && 2.0 * reach_ >= geometry.length[a]) continue;
    const double side = geometry.cell_size(axis), last = box.hi[axis] - 1;
    double low = std::floor((point[a] - reach_) / side), high = std::floor((point[a] + reach_) / side);
    if (!geometry.periodic[a]) {
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
  for (int level = 0; level < owners_.levels(); ++level) {
    const mesh::Layout& layout = owners_.layout(level);
    layout.for_each_image_meeting(region(owners_.geometry(level), point), [&](std::int32_t index, mesh::Int3) {
      const std::int32_t owner = layout.owner(index);
      if (owner != rank_ && std::find(found_.begin(), found_.end(), owner) == found_.end()) found_.push_back(owner);
    });
  }
}

}  // namespace sidestream::analysis
