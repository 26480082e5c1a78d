#pragma once

#include <array>
#include <numbers>
#include <string>

#include "sidestream/fft/modes.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::solvers {

/// How products of fields are kept free of waves that a grid mistakes for longer ones.
enum class Dealiasing {
  /// Waves below a third of the cells along each axis: products alias onto none of them (Orszag 1971).
  two_thirds,
  /// Waves inside the ellipsoid sum_i (n_i / N_i)^2 <= 2/9, which waves aliased twice do not reach; what is aliased
  /// once
  /// cancels between products on two grids that are half a cell apart (Rogallo 1981, NASA TM 81315).
  phase_shift,
};

/// The waves of a periodic box that a pseudo-spectral solver keeps. They are counted in whole waves over the box along
/// each axis and stored as the modes of a real grid of `waves()` cells.
class WaveGrid {
 public:
  WaveGrid(const mesh::Geometry& geometry, Dealiasing dealiasing);

  const mesh::Geometry& geometry() const { return geometry_; }
  mesh::Int3 cells() const { return geometry_.domain.extent(); }
  Dealiasing dealiasing() const { return dealiasing_; }

  /// The most whole waves along each axis.
  mesh::Int3 highest() const { return highest_; }
  mesh::Int3 waves() const { return {2 * highest_.x + 1, 2 * highest_.y + 1, 2 * highest_.z + 1}; }
  /// How many of the waves 0, 1, ... along x are kept beside `y` and `z` whole waves along the others.
  int kept_along_x(int y, int z) const;
  bool keeps(mesh::Int3 wave) const { return wave.x < kept_along_x(wave.y, wave.z); }
  /// Why `wave`, of any signs, is none of those that are kept, in a sentence; empty where it is.
  std::string problem_of(mesh::Int3 wave) const;

  /// 2 pi / length of an axis: the wavenumber of one whole wave [1 / unit of length].
  double fundamental(int axis) const {
    return 2.0 * std::numbers::pi / geometry_.length[static_cast<std::size_t>(axis)];
  }
  /// That of the longest wave of the box: the least of the axes along which there is more than one cell.
  double longest_fundamental() const;
  std::array<double, 3> wavenumber(mesh::Int3 wave) const {
    return {fundamental(0) * wave.x, fundamental(1) * wave.y, fundamental(2) * wave.z};
  }
  /// The highest wavenumber up to which waves of all directions are kept.
  double largest() const;
  /// No wave that is kept has a higher one.
  double highest_wavenumber() const;

 private:
  mesh::Geometry geometry_;
  Dealiasing dealiasing_;
  mesh::Int3 highest_;
};

}  // namespace sidestream::solvers
