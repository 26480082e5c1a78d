#pragma once

#include <complex>
#include <cstdint>

#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::fft {

/// One mode of the half-complex spectrum of a real field.
struct Mode {
  mesh::Int3 wavenumber;  ///< signed; whole waves over the domain along x (0..nx/2), y and z (-(n-1)/2..n/2)
  mesh::Int3 index;       ///< its place in the spectral layout; `view(index.z, index.y, index.x)` is its amplitude
  int weight = 1;  ///< modes of the full spectrum it stands for: 2 where the conjugate mode -k is not stored, else 1
};

/// The domain of the modes of a real field of `cells`: (nx/2+1, ny, nz).
inline mesh::Box spectral_domain(mesh::Int3 cells) {
  return mesh::domain_of({cells.x / 2 + 1, cells.y, cells.z});
}

/// Modes of the full spectrum that the stored mode of index `i` along x stands for.
inline int mode_weight(int i, int nx) {
  return i == 0 || 2 * i == nx ? 1 : 2;
}

/// Calls `f(mode)` for every mode of `box` (of a spectral layout of a real grid of `cells`), x fastest.
template <typename F>
void for_each_mode(const mesh::Box& box, mesh::Int3 cells, F f) {
  for (std::int32_t k = box.lo.z; k < box.hi.z; ++k)
    for (std::int32_t j = box.lo.y; j < box.hi.y; ++j)
      for (std::int32_t i = box.lo.x; i < box.hi.x; ++i)
        f(Mode{{i, wavenumber(j, cells.y), wavenumber(k, cells.z)}, {i, j, k}, mode_weight(i, cells.x)});
}

/// Calls `f(mode, amplitude)` for every mode of this rank's part of `spectrum`, the transform of a real field of
/// `cells`; `amplitude` is a reference, so `f` may change it.
template <typename T, typename F>
void for_each_mode(mesh::Field<std::complex<T>>& spectrum, mesh::Int3 cells, F f) {
  for (int b = 0; b < spectrum.blocks(); ++b) {
    const auto view = spectrum.view(b);
    for_each_mode(spectrum.box(b), cells,
                  [&](const Mode& mode) { f(mode, view(mode.index.z, mode.index.y, mode.index.x)); });
  }
}

/// The same for reading only.
template <typename T, typename F>
void for_each_mode(const mesh::Field<std::complex<T>>& spectrum, mesh::Int3 cells, F f) {
  for (int b = 0; b < spectrum.blocks(); ++b) {
    const auto view = spectrum.view(b);
    for_each_mode(spectrum.box(b), cells,
                  [&](const Mode& mode) { f(mode, view(mode.index.z, mode.index.y, mode.index.x)); });
  }
}

}  // namespace sidestream::fft
