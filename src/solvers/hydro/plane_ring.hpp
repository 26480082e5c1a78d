#pragma once

#include "sidestream/core/memory.hpp"
#include "solvers/hydro/hydro_rows.hpp"

namespace sidestream::solvers {

/// The next whole number of vectors.
constexpr int in_vectors(int cells) {
  return (cells + row_padding) & ~row_padding;
}

/// The last few planes (of constant z) of rows of some quantity, in the order [plane][component][row][x]: what a sweep
/// along z keeps of its intermediate results, so that they stay in the cache.
class PlaneRing {
 public:
  PlaneRing() = default;
  /// Rows [first_row, first_row + rows) of cells [first_cell, first_cell + cells), one row behind the other.
  PlaneRing(int planes, int components, int first_row, int rows, int first_cell, int cells);

  /// The rows of all components at plane `k`, row `j`; their data begins at the cell 0, in row 0 on a cache line.
  /// `k` >= -8.
  Rows at(int k, int j) {
    const std::ptrdiff_t plane = (k + 8 * planes_) % planes_;
    return {data_ + plane * plane_stride_ + before_ + j * pitch_, component_stride_};
  }

 private:
  int planes_ = 0, pitch_ = 0;
  int before_ = 0;  // the place of the cell 0 of row 0 in a plane
  std::ptrdiff_t component_stride_ = 0, plane_stride_ = 0;
  core::Bytes bytes_;
  double* data_ = nullptr;
};

/// Rows for a piece of a plane and the last places before it: what is not needed for long stays in the first cache.
class PieceBuffer {
 public:
  PieceBuffer() = default;
  /// For pieces of up to `size` places, with `before` of those before them.
  PieceBuffer(int components, int size, int before);

  /// Goes over to the piece that begins at `place`; when it follows the one before, keeps its last `kept` places.
  void move_to(int place, int kept);

  /// From `place` on; `move_to` has been there, or to the place that many places before it.
  Rows at(int place) const { return rows_.shifted(before_ + place - place_); }

 private:
  int components_ = 0, size_ = 0, before_ = 0, place_ = 0;
  std::ptrdiff_t stride_ = 0;
  core::Bytes bytes_;
  Rows rows_;
};

}  // namespace sidestream::solvers
