#include "sidestream/redistribute/owned_cells.hpp"

#include <algorithm>

#include "sidestream/core/for_each.hpp"

namespace sidestream::redistribute {

using mesh::Box;
using mesh::Int3;
using mesh::Layout;

OwnedCells::OwnedCells(const Layout& layout, int rank) : layout_(layout), rank_(rank) {
  const auto own = layout.boxes_of(rank);
  constexpr std::int32_t most_of_a_table = 1 << 20;
  const Int3 domain = layout.domain().hi;
  if (own.empty() || std::max({domain.x, domain.y, domain.z}) > most_of_a_table) return;
  const auto cuts = faces();
  std::array<std::int64_t, 3> stride{};
  std::int64_t slabs = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    stride[axis] = slabs;
    slabs *= 1 + std::count(cuts[axis].begin(), cuts[axis].end(), 1);
  }
  if (slabs > 64 * static_cast<std::int64_t>(own.size()) + 4096) return;

  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t below = 0;
    for (const auto cut : cuts[axis]) slab_[axis].push_back(static_cast<std::int32_t>((below += cut) * stride[axis]));
  }
  block_.assign(static_cast<std::size_t>(slabs), -1);
  for (std::size_t b = 0; b < own.size(); ++b) {
    const Box& box = layout.box(own[b]);
    for (auto z = slab(2, box.lo.z); z <= slab(2, box.hi.z - 1); z += static_cast<std::int32_t>(stride[2]))
      for (auto y = slab(1, box.lo.y); y <= slab(1, box.hi.y - 1); y += static_cast<std::int32_t>(stride[1]))
        for (auto x = slab(0, box.lo.x); x <= slab(0, box.hi.x - 1); ++x)
          block_[static_cast<std::size_t>(z + y + x)] = static_cast<std::int32_t>(b);
  }
}

// For each axis and cell of the domain, whether a face of a box of this rank lies below it; the first cell has none.
std::array<std::vector<std::uint8_t>, 3> OwnedCells::faces() const {
  std::array<std::vector<std::uint8_t>, 3> cuts;
  const Int3 cells = layout_.domain().hi;
  for (int axis = 0; axis < 3; ++axis) {
    auto& cut = cuts[static_cast<std::size_t>(axis)];
    cut.assign(static_cast<std::size_t>(cells[axis]), 0);
    for (const auto index : layout_.boxes_of(rank_))
      for (const auto face : {layout_.box(index).lo[axis], layout_.box(index).hi[axis]})
        if (face > 0 && face < cells[axis]) cut[static_cast<std::size_t>(face)] = 1;
  }
  return cuts;
}

std::int32_t OwnedCells::block_by_layout(Int3 cell) const {
  const auto index = layout_.find(cell);
  if (index < 0 || layout_.owner(index) != rank_) return -1;
  const auto own = layout_.boxes_of(rank_);
  return static_cast<std::int32_t>(std::lower_bound(own.begin(), own.end(), index) - own.begin());
}

Home home_of(const Layout& layout, Int3 cell) {
  Home home{layout.find(cell), cell};
  const mesh::Periodicity& periodic = layout.periodic();
  for (std::int32_t distance = 1; home.box < 0 && distance <= farthest_home; ++distance)
    core::for_each_cell(Box{cell, cell + Int3{1, 1, 1}}.grown(distance), [&](int k, int j, int i) {
      const Int3 beside{i, j, k};
      Int3 inside = beside;
      for (int axis = 0; axis < 3; ++axis)
        if (periodic[static_cast<std::size_t>(axis)])
          inside[axis] = mesh::wrapped(beside[axis], layout.domain().hi[axis]);
      const auto box = layout.find(inside);
      if (box >= 0 && (home.box < 0 || box < home.box)) home = {box, cell + (inside - beside)};
    });
  return home;
}

}  // namespace sidestream::redistribute
