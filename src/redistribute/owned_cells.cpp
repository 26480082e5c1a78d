#include "redistribute/owned_cells.hpp"

#include <algorithm>

namespace sidestream::redistribute {

namespace {

mesh::Box hull(const mesh::Box& a, const mesh::Box& b) {
  if (a.is_empty()) return b;
  return {{std::min(a.lo.x, b.lo.x), std::min(a.lo.y, b.lo.y), std::min(a.lo.z, b.lo.z)},
          {std::max(a.hi.x, b.hi.x), std::max(a.hi.y, b.hi.y), std::max(a.hi.z, b.hi.z)}};
}

}  // namespace

OwnedCells::OwnedCells(const mesh::Layout& layout, int rank) : layout_(layout), rank_(rank) {
  const auto own = layout.boxes_of(rank);
  for (const auto index : own) bounds_ = hull(bounds_, layout.box(index));
  std::int64_t slabs = 1;
  for (int axis = 0; axis < 3; ++axis) cut_axis(own, axis, slabs);
  if (slabs > 64 * static_cast<std::int64_t>(own.size()) + 4096) return;
  is_owned_.assign(static_cast<std::size_t>(slabs), 0);
  const auto slab = [&](int axis, std::int32_t cell) {
    return slab_of_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(cell - bounds_.lo[axis])];
  };
  for (const auto index : own) {
    const mesh::Box& box = layout.box(index);
    const std::int64_t step_y = stride_[1], step_z = stride_[2];
    for (auto z = slab(2, box.lo.z); z <= slab(2, box.hi.z - 1); z += step_z)
      for (auto y = slab(1, box.lo.y); y <= slab(1, box.hi.y - 1); y += step_y)
        for (auto x = slab(0, box.lo.x); x <= slab(0, box.hi.x - 1); ++x)
          is_owned_[static_cast<std::size_t>(z + y + x)] = 1;
  }
}

// Numbers the slabs between the faces of all boxes along `axis`; `slabs` is their product over the axes so far.
void OwnedCells::cut_axis(std::span<const std::int32_t> own, int axis, std::int64_t& slabs) {
  auto& slab_of = slab_of_[static_cast<std::size_t>(axis)];
  const std::int32_t lo = bounds_.lo[axis];
  slab_of.assign(static_cast<std::size_t>(bounds_.hi[axis] - lo), 0);
  for (const auto index : own)
    for (const auto face : {layout_.box(index).lo[axis], layout_.box(index).hi[axis]})
      if (face > lo && face < bounds_.hi[axis]) slab_of[static_cast<std::size_t>(face - lo)] = 1;
  const std::int64_t stride = slabs;
  stride_[static_cast<std::size_t>(axis)] = stride;
  std::int64_t number = 0;
  for (auto& slab : slab_of) {
    number += slab;
    slab = number * stride;
  }
  slabs *= number + 1;
}

bool OwnedCells::owns_by_layout(mesh::Int3 cell) const {
  const auto index = layout_.find(cell);
  return index >= 0 && layout_.owner(index) == rank_;
}

}  // namespace sidestream::redistribute
