#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "fft/batch_transform.hpp"

namespace sidestream::fft {

/// The sign of the exponent.
enum class Direction { forward = -1, backward = 1 };

/// Complex lines of one length, transformed in batches of one shape (the last padded with zeros), so that the bits of a
/// line depend neither on its neighbours nor on where it lies. Not thread-safe: the buffers belong to the object.
class ComplexLines {
 public:
  explicit ComplexLines(int length);

  /// Transforms `count` interleaved lines in place: element i of line l is `data[i * stride + l]`.
  [[gnu::visibility("default")]] void apply(Direction direction, std::complex<double>* data, std::ptrdiff_t stride,
                                            std::ptrdiff_t count);

 private:
  template <Direction direction>
  void transform_piece(std::complex<double>* data, std::ptrdiff_t stride, int lines);

  BatchTransform transform_;
  int width_ = 1;  // batches that go through the cache together
  std::vector<Element> batches_, scratch_;
};

/// Real lines of one length to and from their half-complex spectra (length/2 + 1). Contract as above. Lines of even
/// length go as complex lines of half the length: even elements as real, odd ones as imaginary parts.
class RealLines {
 public:
  explicit RealLines(int length);

  /// Transforms `count` lines; line l begins at `real + l * real_stride` and `spectrum + l * spectrum_stride`. These
  /// may be the same memory if no line begins behind its modes: forward goes from the last line to the first, backward
  /// from the first to the last.
  [[gnu::visibility("default")]] void forward(const double* real, std::ptrdiff_t real_stride,
                                              std::complex<double>* spectrum, std::ptrdiff_t spectrum_stride,
                                              int count);
  [[gnu::visibility("default")]] void backward(const std::complex<double>* spectrum, std::ptrdiff_t spectrum_stride,
                                               double* real, std::ptrdiff_t real_stride, int count);

 private:
  bool is_even() const { return length_ % 2 == 0; }
  void unpack_modes(Element* packed);
  void pack_modes(Element* modes);

  int length_, modes_;
  BatchTransform transform_;
  std::vector<std::complex<double>> roots_;  // exp(-2 pi i k / length)
  std::vector<Element> batch_, scratch_;
};

}  // namespace sidestream::fft
