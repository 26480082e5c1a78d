#pragma once

#include <cstddef>
#include <vector>

#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::fft {

/// Memory that holds the cells of a rank and, after `forward` of a plan that was made with `in_place`, their modes. It
/// is as large as the larger of the two. Rows of cells along the whole of x have room for their modes, 2 (n/2 + 1)
/// numbers, as FFTW has them. Filled with zeros.
template <typename Cell>
class InPlaceField {
 public:
  using Mode = typename ModeOf<Cell>::Type;

  /// For the layouts and components of `plan`, on `rank` of its communicator. Local.
  InPlaceField(const FftPlan<Cell>& plan, int rank);
  InPlaceField(InPlaceField&&) noexcept = default;
  InPlaceField& operator=(InPlaceField&&) noexcept = default;

  /// On `plan.real()` and on `plan.spectral()`; valid as long as this, wherever it is moved.
  const mesh::FieldView<Cell>& cells() const { return cells_; }
  const mesh::FieldView<Mode>& modes() const { return modes_; }
  std::size_t size_bytes() const { return memory_.size() * sizeof(Mode); }

 private:
  std::vector<Mode> memory_;
  mesh::FieldView<Cell> cells_;
  mesh::FieldView<Mode> modes_;
};

}  // namespace sidestream::fft
