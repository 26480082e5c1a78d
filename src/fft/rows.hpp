#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "fft/batch_transform.hpp"
#include "fft/lines.hpp"

namespace sidestream::fft {

/// Real lines of one length, each contiguous, to and from the first `kept` of their half-complex modes. The bits of a
/// line do not depend on its neighbours or its place. Lines of even length go as complex lines of half the length: even
/// elements as real, odd ones as imaginary parts. Not thread-safe: the buffers belong to the object.
template <typename T>
class RealRows {
 public:
  using Cell = T;
  using Complex = std::complex<T>;

  RealRows(int length, int kept);

  /// Transforms `count` lines; line l begins at `cells + l * cells_stride` and `modes + l * modes_stride`, which may
  /// be the same place for each l. `backward` takes modes that are not kept as zeros.
  [[gnu::visibility("default")]] void forward(const T* cells, std::ptrdiff_t cells_stride, Complex* modes,
                                              std::ptrdiff_t modes_stride, int count);
  [[gnu::visibility("default")]] void backward(const Complex* modes, std::ptrdiff_t modes_stride, T* cells,
                                               std::ptrdiff_t cells_stride, int count);

 private:
  bool is_even() const { return length_ % 2 == 0; }
  void unpack_modes(Element<T>* packed);
  void pack_modes(Element<T>* modes);

  int length_, kept_;
  BatchTransform<T> transform_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / length)
  std::vector<Element<T>> batch_, scratch_;
};

/// The same for complex lines and the modes that are kept of them.
template <typename T>
class ComplexRows {
 public:
  using Cell = std::complex<T>;
  using Complex = std::complex<T>;

  ComplexRows(int length, int kept);

  [[gnu::visibility("default")]] void forward(const Complex* cells, std::ptrdiff_t cells_stride, Complex* modes,
                                              std::ptrdiff_t modes_stride, int count);
  [[gnu::visibility("default")]] void backward(const Complex* modes, std::ptrdiff_t modes_stride, Complex* cells,
                                               std::ptrdiff_t cells_stride, int count);

 private:
  BatchTransform<T> transform_;
  KeptModes kept_;
  std::vector<Element<T>> batch_, scratch_;
};

template <typename Cell>
struct RowsOf {
  using Number = Cell;
  using Type = RealRows<Cell>;
};
template <typename T>
struct RowsOf<std::complex<T>> {
  using Number = T;
  using Type = ComplexRows<T>;
};

}  // namespace sidestream::fft
