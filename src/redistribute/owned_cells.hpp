#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::redistribute {

/// Tells in a few nanoseconds whether a rank owns a cell. The faces of its boxes cut each axis into slabs; a table says
/// which products of slabs are owned. Boxes so irregular that the table would outgrow them are looked up in the layout
/// instead.
class OwnedCells {
 public:
  OwnedCells(const mesh::Layout& layout, int rank);

  bool contains(mesh::Int3 cell) const {
    if (!bounds_.contains(cell)) return false;
    if (is_owned_.empty()) return owns_by_layout(cell);
    const auto slab = [&](int axis) {
      return slab_of_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(cell[axis] - bounds_.lo[axis])];
    };
    return is_owned_[static_cast<std::size_t>(slab(2) + slab(1) + slab(0))] != 0;
  }

 private:
  void cut_axis(std::span<const std::int32_t> own, int axis, std::int64_t& slabs);
  bool owns_by_layout(mesh::Int3 cell) const;

  mesh::Layout layout_;
  int rank_ = 0;
  mesh::Box bounds_{};  // of all own boxes
  std::array<std::vector<std::int64_t>, 3>
      slab_of_;                           // by cell from bounds_.lo: number of the slab times its stride in the table
  std::array<std::int64_t, 3> stride_{};  // of the table
  std::vector<std::uint8_t> is_owned_;
};

}  // namespace sidestream::redistribute
