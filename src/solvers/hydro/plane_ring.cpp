#include "solvers/hydro/plane_ring.hpp"

#include <algorithm>

namespace sidestream::solvers {

PlaneRing::PlaneRing(int planes, int components, int first_row, int rows, int first_cell, int cells)
    : planes_(planes), pitch_(cells), before_(in_vectors(row_padding - first_row * pitch_ - first_cell)) {
  component_stride_ = in_vectors(before_ + pitch_ * (first_row + rows) + first_cell + row_padding);
  plane_stride_ = component_stride_ * components;
  const auto size = static_cast<std::size_t>(plane_stride_ * planes);
  bytes_ = core::allocate_bytes(size * sizeof(double));
  data_ = reinterpret_cast<double*>(bytes_.get());
  std::fill_n(data_, size, 0.0);
}

PieceBuffer::PieceBuffer(int components, int size, int before)
    : size_(size), before_(before), stride_(in_vectors(before + size + row_padding)) {
  const auto all = static_cast<std::size_t>(stride_ * components);
  bytes_ = core::allocate_bytes(all * sizeof(double));
  rows_ = {reinterpret_cast<double*>(bytes_.get()), stride_};
  std::fill_n(rows_.data, all, 0.0);
  components_ = components;
}

void PieceBuffer::move_to(int place, int kept) {
  if (place == place_ + size_ && kept > 0)
    for (int c = 0; c < components_; ++c) {
      double* const end = rows_[c] + before_;
      std::copy_n(end + size_ - kept, kept, end - kept);
    }
  place_ = place;
}

}  // namespace sidestream::solvers
