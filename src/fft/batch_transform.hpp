#pragma once

#include <complex>
#include <memory>
#include <vector>

#include "fft/lanes.hpp"

namespace sidestream::fft {

/// exp(-2 pi i k / n), rounded correctly but for the last bit and with the symmetries of the circle exact.
std::complex<double> root_of_unity(std::int64_t k, std::int64_t n);

/// The forward transform of a batch of complex lines. Lengths whose prime factors are at most 13 go through Stockham's
/// self-sorting passes of radix 8, 4, 2, 3, 5, 7, 11 and 13; others through FFTW.
class BatchTransform {
 public:
  explicit BatchTransform(int length);
  ~BatchTransform();
  BatchTransform(BatchTransform&&) noexcept;
  BatchTransform& operator=(BatchTransform&&) noexcept;

  int length() const { return length_; }

  /// Transforms the `length` elements of `data` with the help of `scratch`, as long.
  [[gnu::visibility("default")]] void apply_in_place(Element* data, Element* scratch) const;

 private:
  struct Pass;
  struct Fftw;

  int length_;
  std::vector<Pass> passes_;
  std::unique_ptr<Fftw> fftw_;  // for lengths with a large prime factor
};

}  // namespace sidestream::fft
