#pragma once

#include <complex>
#include <vector>

#include "sidestream/solvers/spectral/wave_grid.hpp"
#include "solvers/spectral/flow_rows.hpp"

namespace sidestream::solvers {

/// The rows along x of a box of modes, with what is the same for all modes of one index along an axis.
class ModeRows {
 public:
  /// `box`: of the modes of a real grid of `waves` cells.
  ModeRows(const WaveGrid& grid, mesh::Int3 waves, const mesh::Box& box);

  const mesh::Box& box() const { return box_; }
  mesh::Int3 wave(int k, int j) const;  ///< of the first mode of the row
  /// Modes of the row that are kept: the first ones.
  int kept(int k, int j) const {
    return kept_[static_cast<std::size_t>(k - box_.lo.z) * static_cast<std::size_t>(box_.extent().y) +
                 static_cast<std::size_t>(j - box_.lo.y)];
  }
  /// Without decay.
  ModeRow row(int k, int j) const;
  /// 1 for the first modes along x where these are stored beside their conjugates, else 2.
  int weight(int i) const { return i == 0 ? 1 : 2; }

 private:
  const WaveGrid* grid_;
  mesh::Int3 waves_;
  mesh::Box box_;
  std::vector<double> kx_, ones_;
  std::vector<int> kept_;
};

/// exp(-D k^2 h) of each mode as a product over the axes.
class Decay {
 public:
  Decay(const WaveGrid& grid, mesh::Int3 waves, const mesh::Box& box, double diffusivity, double time);
  void apply_to(ModeRow& row, int k, int j) const;

 private:
  mesh::Int3 lo_;
  std::array<std::vector<double>, 3> factor_;
};

/// exp(i k.d) of each mode as a product over the axes.
class Displacement {
 public:
  Displacement(const WaveGrid& grid, mesh::Int3 waves, const mesh::Box& box, const std::array<double, 3>& by);
  /// Multiplies `modes` modes of a row.
  template <typename Real>
  void apply(int modes, int k, int j, ComplexRow<Real> row) const;
  /// Displaces back.
  Displacement reversed() const;

 private:
  mesh::Int3 lo_;
  std::array<std::vector<std::complex<double>>, 3> phase_;
};

}  // namespace sidestream::solvers
