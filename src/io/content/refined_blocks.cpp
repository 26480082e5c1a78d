#include <fmt/format.h>

#include <algorithm>

#include "sidestream/core/error.hpp"
#include "sidestream/io/refined_blocks.hpp"

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

}  // namespace sidestream::io
