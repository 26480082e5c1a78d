#pragma once

#include <array>
#include <cstdint>

#include "sidestream/mesh/geometry.hpp"

namespace sidestream::analysis {

/// Physical wave numbers of whole waves over a periodic box, and the shells that they are sorted into: shell n holds
/// the waves with n - 1/2 <= |k| / fundamental() < n + 1/2. Together they hold all modes of the grid.
class WaveNumbers {
 public:
  explicit WaveNumbers(const mesh::Geometry& geometry);

  /// Axes of more than one cell.
  int dimensions() const { return dimensions_; }
  /// 2 pi / (longest side of more than one cell) [1 / unit of length]
  double fundamental() const { return fundamental_; }
  /// The highest wave number of the axis whose cells are the largest.
  double nyquist() const { return nyquist_; }
  std::int64_t shells() const { return shells_; }
  std::int64_t shell_of(mesh::Int3 wave) const;
  /// |k|^2
  double squared(mesh::Int3 wave) const;
  /// What a derivative multiplies the amplitude by, over i: k, but zero along an axis where the wave turns from cell to
  /// cell, because the derivative of that wave vanishes in all cells.
  std::array<double, 3> derivative(mesh::Int3 wave) const;

 private:
  double in_fundamentals(mesh::Int3 wave) const;

  mesh::Int3 cells_;
  std::array<double, 3> scale_{};  // fundamental mode of each axis over `fundamental_`
  double fundamental_ = 0.0, nyquist_ = 0.0;
  int dimensions_ = 0;
  std::int64_t shells_ = 0;
};

}  // namespace sidestream::analysis
