#pragma once

#include <complex>
#include <memory>
#include <vector>

#include "fft/batch_transform.hpp"
#include "fft/engines/own/prime_transform.hpp"

namespace sidestream::fft {

/// The largest prime that has a butterfly of its own.
constexpr int largest_radix = 13;

template <typename T>
struct BatchTransform<T>::Steps {
  /// One pass of the transform of lines whose length so far is `stride`: lines of radix * count * stride elements.
  struct Pass {
    int radix, count, stride;
    std::vector<std::complex<T>> roots;        ///< of order radix
    std::vector<std::complex<T>> twiddles;     ///< exp(-2 pi i p j / (radix count)) for p < count, 0 < j < radix
    std::unique_ptr<PrimeTransform<T>> prime;  ///< of a radix above `largest_radix`

    Pass(int r, int m, int s);
  };

  std::vector<Pass> passes;
};

}  // namespace sidestream::fft
