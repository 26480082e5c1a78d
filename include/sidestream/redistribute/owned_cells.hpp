#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::redistribute {

/// Tells in a few nanoseconds which block of a rank holds a cell. The faces of its boxes cut each axis into slabs; a
/// table says which box holds each product of slabs. Boxes so irregular that the table would outgrow them, and those
/// of domains with more than 2^20 cells along an axis, are looked up in the layout instead.
class OwnedCells {
 public:
  OwnedCells(const mesh::Layout& layout, int rank);

  /// The block of the rank that holds `cell`, a cell of the domain: counted as the blocks of a field are; -1 when the
  /// rank does not own the cell.
  std::int32_t block_of(mesh::Int3 cell) const {
    if (block_.empty()) return block_by_layout(cell);
    return block_[static_cast<std::size_t>(slab(0, cell.x) + slab(1, cell.y) + slab(2, cell.z))];
  }
  bool contains(mesh::Int3 cell) const { return layout_.domain().contains(cell) && block_of(cell) >= 0; }

 private:
  std::int32_t slab(std::size_t axis, std::int32_t cell) const { return slab_[axis][static_cast<std::size_t>(cell)]; }
  std::array<std::vector<std::uint8_t>, 3> faces() const;
  std::int32_t block_by_layout(mesh::Int3 cell) const;

  mesh::Layout layout_;
  int rank_ = 0;
  std::array<std::vector<std::int32_t>, 3> slab_;  // by cell: number of the slab times its stride in the table
  std::vector<std::int32_t> block_;
};

/// A box and a cell in the frame of that box, which may lie across a periodic boundary.
struct Home {
  std::int32_t box = -1;
  mesh::Int3 cell;
};

/// Where a particle in `cell` of the domain is kept: by the box that holds the cell or, where none does (beyond the
/// edge of a refined level), by the first of the boxes that are nearest to it, up to `farthest_home` cells away (on the
/// axis on which it is most); box -1 when there is none.
constexpr std::int32_t farthest_home = 4;
Home home_of(const mesh::Layout& layout, mesh::Int3 cell);

}  // namespace sidestream::redistribute
