#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "io/content/refined_blocks.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

using mesh::Box;
using mesh::Int3;

Int3 block_extent(std::span<const mesh::Layout> levels) {
  return levels.empty() || levels.front().size() == 0 ? Int3{1, 1, 1} : levels.front().box(0).extent();
}

Int3 block_position(const Box& box, Int3 extent) {
  const Int3 position{box.lo.x / extent.x, box.lo.y / extent.y, box.lo.z / extent.z};
  const Int3 lo{position.x * extent.x, position.y * extent.y, position.z * extent.z};
  if (box.extent() != extent || box.lo != lo)
    throw core::Error(
        fmt::format("the box {} is no block of {} x {} x {} cells", to_string(box), extent.x, extent.y, extent.z));
  return position;
}

}  // namespace

std::vector<mesh::BlockKey> refined_blocks(std::span<const mesh::Layout> levels) {
  const Int3 extent = block_extent(levels);
  std::vector<mesh::BlockKey> refined;
  for (std::size_t level = 0; level + 1 < levels.size(); ++level)
    for (const Box& box : levels[level].boxes()) {
      const Int3 position = block_position(box, extent), cells = levels[level].domain().extent();
      Int3 corner = box.lo;
      for (int axis = 0; axis < 3; ++axis)
        if (cells[axis] > 1) corner[axis] *= 2;
      if (levels[level + 1].find(corner) >= 0) refined.push_back({static_cast<std::int32_t>(level), position});
    }
  return refined;
}

std::vector<mesh::Layout> with_refined_blocks(std::span<const mesh::Layout> leaves) {
  std::vector<mesh::Layout> all(leaves.begin(), leaves.end());
  for (std::size_t level = leaves.size() - 1; level-- > 0;) {
    const mesh::Layout& own = leaves[level];
    std::vector<Box> boxes(own.boxes().begin(), own.boxes().end());
    std::vector<std::int32_t> owners;
    for (std::int32_t b = 0; b < own.size(); ++b) owners.push_back(own.owner(b));
    std::set<std::array<std::int32_t, 3>> parents;
    const Int3 cells = own.domain().extent();
    for (std::int32_t b = 0; b < all[level + 1].size(); ++b) {
      const Box& child = all[level + 1].box(b);
      const Int3 extent = child.extent();
      Int3 corner = child.lo;
      for (int axis = 0; axis < 3; ++axis)
        if (cells[axis] > 1) corner[axis] = child.lo[axis] / (2 * extent[axis]) * extent[axis];
      if (!parents.insert({corner.x, corner.y, corner.z}).second) continue;
      boxes.push_back({corner, corner + extent});
      owners.push_back(all[level + 1].owner(b));
    }
    all[level] = mesh::Layout(own.domain(), own.periodic(), std::move(boxes), std::move(owners), own.level());
  }
  return all;
}

}  // namespace sidestream::io
