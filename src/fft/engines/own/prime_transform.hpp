#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "fft/batch_transform.hpp"

namespace sidestream::fft {

/// The forward transform of a batch of lines whose length is a prime p, as a cyclic convolution of p - 1 elements in
/// the order of the powers of a primitive root (Rader 1968).
template <typename T>
class PrimeTransform {
 public:
  explicit PrimeTransform(int prime);

  std::size_t scratch_length() const { return static_cast<std::size_t>(prime_ - 1) + convolution_.scratch_length(); }

  /// Element j of the line is `from[j * from_stride]`, its mode k becomes `to[k * to_stride]`; the two may be the same
  /// memory.
  void apply(const Element<T>* from, std::ptrdiff_t from_stride, Element<T>* to, std::ptrdiff_t to_stride,
             Element<T>* scratch) const;

 private:
  int prime_;
  BatchTransform<T> convolution_;
  std::vector<int> powers_;               ///< of a primitive root g: g^q mod p
  std::vector<std::complex<T>> factors_;  ///< the transform of exp(-2 pi i g^-q / p), divided by p - 1
};

}  // namespace sidestream::fft
