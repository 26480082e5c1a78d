#include "sidestream/mesh/field_view.hpp"

#include <algorithm>

namespace sidestream::mesh {

bool BlockTable::has_rows() const {
  return std::ranges::all_of(blocks, [](const Block& block) { return block.stride_x == 1; });
}

int BlockTable::block_on(const Box& box) const {
  const auto own = layout.boxes_of(rank);
  const auto found = std::ranges::lower_bound(own, layout.find(box.lo));
  core::require(found != own.end() && layout.box(*found) == box, "a view has no such box");
  return static_cast<int>(found - own.begin());
}

BlockTable part_of(const BlockTable& table, const Layout& layout) {
  BlockTable part{layout, table.rank, table.components, table.ghosts, {}};
  for (const std::int32_t index : layout.boxes_of(table.rank))
    part.blocks.push_back(table.blocks[static_cast<std::size_t>(table.block_on(layout.box(index)))]);
  return part;
}

}  // namespace sidestream::mesh
