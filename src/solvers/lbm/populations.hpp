#pragma once

#include <algorithm>
#include <span>

#include "sidestream/core/memory.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/field_view.hpp"
#include "sidestream/mesh/layout.hpp"
#include "solvers/lbm/lattice_rows.hpp"

namespace sidestream::solvers {

/// The populations of the one box that a rank has of a layout, with a layer of ghost cells: one direction after
/// another, in rows that begin on cache lines, so that they may be written past the caches. All begin as zero. What
/// lies behind a row may be read with it. What is measured of them lies in such memory, too, with as many numbers
/// between rows.
template <typename Real>
class Populations {
 public:
  Populations(int directions, const mesh::Layout& layout, int rank, std::ptrdiff_t in_a_line = 64 / sizeof(Real)) {
    const auto own = layout.boxes_of(rank);
    if (own.empty()) return;
    box_ = layout.box(own.front());
    const mesh::Int3 n = box_.extent();
    const bool is_flat = layout.domain().extent().z == 1;
    rows_.stride_y = rounded_up(n.x + 2, in_a_line);  // the last ghost cell, then the first of the next row
    rows_.stride_z = rows_.stride_y * (n.y + 2);
    const std::ptrdiff_t cells = rows_.stride_z * (is_flat ? 1 : n.z + 2) + in_a_line;
    // Directions begin on different lines of a page, which would else drive each other from the caches.
    rows_.stride = rounded_up(cells, page) + lines_apart * in_a_line;
    const auto bytes = static_cast<std::size_t>(rows_.stride * directions + in_a_line) * sizeof(Real);
    bytes_ = core::allocate_bytes(bytes);
    core::clear(bytes_, bytes);
    rows_.first = reinterpret_cast<Real*>(bytes_.get()) + in_a_line + rows_.stride_y + (is_flat ? 0 : rows_.stride_z);
    view_ = {rows_.first - box_.lo.x - box_.lo.y * rows_.stride_y - box_.lo.z * rows_.stride_z, rows_.stride_y,
             rows_.stride_z, rows_.stride, directions};
    size_bytes_ = bytes;
  }

  bool is_empty() const { return bytes_ == nullptr; }
  const mesh::Box& box() const { return box_; }
  std::size_t size_bytes() const { return size_bytes_; }
  PopulationRows<Real> rows() { return rows_; }
  PopulationRows<const Real> rows() const { return {rows_.first, rows_.stride_y, rows_.stride_z, rows_.stride}; }
  core::View4<Real> view() { return view_; }
  core::View4<const Real> view() const { return view_; }
  /// Where a cell lies in one direction, from the lowest of the box on.
  std::ptrdiff_t place_of(mesh::Int3 cell) const {
    const mesh::Int3 at = cell - box_.lo;
    return at.x + at.y * rows_.stride_y + at.z * rows_.stride_z;
  }

 private:
  static constexpr std::ptrdiff_t page = 4096 / sizeof(Real), lines_apart = 5;
  static std::ptrdiff_t rounded_up(std::ptrdiff_t size, std::ptrdiff_t unit) { return (size + unit - 1) / unit * unit; }

  mesh::Box box_;
  core::Bytes bytes_;
  std::size_t size_bytes_ = 0;
  PopulationRows<Real> rows_;
  core::View4<Real> view_;
};

}  // namespace sidestream::solvers
