#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fft/lanes.hpp"

namespace sidestream::fft {

/// exp(-2 pi i k / n), rounded correctly but for the last bit and with the symmetries of the circle exact.
std::complex<double> root_of_unity(std::int64_t k, std::int64_t n);

/// The forward transform of a batch of complex lines of one length, in Stockham's self-sorting passes: of radix 8, 4,
/// 2, 3, 5, 7, 11 and 13, and for each larger prime factor by Rader's convolution, itself two of these transforms.
/// Copies share the tables.
template <typename T>
class BatchTransform {
 public:
  explicit BatchTransform(int length);

  int length() const { return length_; }
  /// Elements of scratch memory that `apply_in_place` takes.
  std::size_t scratch_length() const { return scratch_length_; }

  /// Transforms the `length` elements of `data`.
  [[gnu::visibility("default")]] void apply_in_place(Element<T>* data, Element<T>* scratch) const;

 private:
  struct Pass;

  int length_;
  std::size_t scratch_length_;
  std::shared_ptr<const std::vector<Pass>> passes_;
};

}  // namespace sidestream::fft
