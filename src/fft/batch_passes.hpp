#pragma once

#include <complex>
#include <vector>

#include "fft/batch_transform.hpp"
#include "fft/fftw.hpp"

namespace sidestream::fft {

/// One pass of the transform of lines whose length so far is `stride`: lines of radix * count * stride elements.
struct BatchTransform::Pass {
  int radix, count, stride;
  std::vector<std::complex<double>> roots;     ///< of order radix
  std::vector<std::complex<double>> twiddles;  ///< exp(-2 pi i p j / (radix count)) for p < count, 0 < j < radix

  Pass(int r, int m, int s);
};

/// FFTW on the real and imaginary parts where they lie: element i of lane l is number 2 batch i + l, its imaginary part
/// `batch` further.
struct BatchTransform::Fftw {
  Plan1d plan;

  explicit Fftw(int length);

  static double* re(Element* element) { return reinterpret_cast<double*>(element); }
  static double* im(Element* element) { return re(element) + batch; }
};

}  // namespace sidestream::fft
