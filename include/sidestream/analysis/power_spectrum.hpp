#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::analysis {

/// How modes are sorted into shells of |k|, in units of the fundamental mode kf = 2 pi / (longest side). Linear: the
/// shells [(n - 1/2) width, (n + 1/2) width) whose middle, n width, is at most the Nyquist frequency of the coarsest
/// axis. Logarithmic: `per_decade` shells a decade from kf / 2, up to the one that holds that frequency.
struct ShellOptions {
  bool is_logarithmic = false;
  double width = 1.0;
  std::int64_t per_decade = 10;
};

/// Power in shells of wave numbers; shells without a mode are left out.
struct PowerSpectrum {
  std::vector<double> k;  ///< mean wave number of the modes [1 / unit of length]
  std::vector<double>
      power;  ///< volume times mean |delta_k|^2, with delta_k the transform of f / mean - 1 over the number of cells
  std::vector<std::int64_t> modes;  ///< number of modes, k and -k both counted
};

/// The power spectrum of a field that covers its domain, complete on rank 0. The same bits for any layout and number of
/// ranks. Collective. `deconvolve` divides by the window of a cloud-in-cell deposit. Throws core::Error when the mean
/// is not positive or a value not finite. Memory: the transform, 8 bytes a cell, and what it needs on the way.
PowerSpectrum power_spectrum(const comm::Communicator& comm, const ScalarView& field, const mesh::Geometry& geometry,
                             const ShellOptions& shells = {}, bool deconvolve = false);

}  // namespace sidestream::analysis
