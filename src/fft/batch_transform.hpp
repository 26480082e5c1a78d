#pragma once

#include <cstddef>
#include <memory>

#include "fft/lanes.hpp"

namespace sidestream::fft {

/// The forward transform of a batch of complex lines of one length: what an engine is. The build has one of those in
/// `engines/`: ours, in Stockham's self-sorting passes of radix 8, 4, 2, 3, 5, 7, 11 and 13, and for each larger prime
/// factor by Rader's convolution, itself two of these transforms; or FFTW. Copies share the tables. Thread-safe.
template <typename T>
class BatchTransform {
 public:
  [[gnu::visibility("default")]] explicit BatchTransform(int length);

  int length() const { return length_; }
  /// Elements of scratch memory that `apply_in_place` takes.
  std::size_t scratch_length() const { return scratch_length_; }

  /// Transforms the `length` elements of `data`.
  [[gnu::visibility("default")]] void apply_in_place(Element<T>* data, Element<T>* scratch) const;

 private:
  struct Steps;

  int length_;
  std::size_t scratch_length_;
  std::shared_ptr<const Steps> steps_;
};

}  // namespace sidestream::fft
