#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "fft/batch_transform.hpp"

namespace sidestream::fft {

/// The sign of the exponent.
enum class Direction { forward = -1, backward = 1 };

/// The modes of an axis that are kept: the wavenumbers from -K to K, in 2 K + 1 places, or all. The first `low` places
/// are those of all modes, the others follow behind a gap.
struct KeptModes {
  int all, low, high;  ///< modes of the line; kept ones from the start; kept ones up to the end

  /// `kept` modes of a line of `length`: odd, or all.
  KeptModes(int length, int kept) : all(length), low(kept == length ? length : (kept + 1) / 2), high(kept - low) {}
  int count() const { return low + high; }
};

/// Complex lines of one length, transformed in batches of one shape (the last padded with zeros), so that the bits of a
/// line depend neither on its neighbours nor on where it lies. Not thread-safe: the buffers belong to the object.
template <typename T>
class ComplexLines {
 public:
  using Complex = std::complex<T>;

  ComplexLines(int length, int kept);

  /// Transforms `count` interleaved lines: element i of line l is `cells[i * stride + l]`, and so for its kept modes,
  /// in the same memory with the same strides or in another. `backward` takes the other modes as zeros.
  [[gnu::visibility("default")]] void forward(const Complex* cells, std::ptrdiff_t cells_stride, Complex* modes,
                                              std::ptrdiff_t modes_stride, std::ptrdiff_t count);
  [[gnu::visibility("default")]] void backward(const Complex* modes, std::ptrdiff_t modes_stride, Complex* cells,
                                               std::ptrdiff_t cells_stride, std::ptrdiff_t count);

 private:
  template <Direction direction>
  void load_rows(const Complex* from, std::ptrdiff_t stride, int lines, int first, int count);
  template <Direction direction>
  void store_rows(Complex* to, std::ptrdiff_t stride, int lines, int first, int count) const;
  void clear_gap(int lines);
  void transform(int lines);

  BatchTransform<T> transform_;
  KeptModes kept_;
  int width_ = 1;  // batches that go through the cache together
  std::vector<Element<T>> batches_, scratch_;
};

}  // namespace sidestream::fft
