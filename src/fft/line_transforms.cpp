#include <algorithm>
#include <array>

#include "fft/lines.hpp"

namespace sidestream::fft {

namespace {

template <Direction direction, typename T>
Element<T> oriented(const Element<T>& element) {
  return direction == Direction::forward ? element : swapped(element);
}

// A grid of 2^n cells has 2^(n-1) + 1 modes along x, so that batches of a single line are common.
template <typename T>
Element<T> load_some(const std::complex<T>* from, int count) {
  if (count == 1) return {Lanes<T>{from->real()}, Lanes<T>{from->imag()}};
  std::array<std::complex<T>, batch> numbers{};
  std::copy_n(from, count, numbers.data());
  return load_interleaved(numbers.data());
}

template <typename T>
void store_some(const Element<T>& element, std::complex<T>* to, int count) {
  if (count == 1) {
    *to = {element.re[0], element.im[0]};
    return;
  }
  std::array<std::complex<T>, batch> numbers;
  store_interleaved(element, numbers.data());
  std::copy_n(numbers.data(), count, to);
}

}  // namespace

// Rows `from`, ... become elements `first`, ... of all lines.
template <typename T>
template <Direction direction>
void ComplexLines<T>::load_rows(const Complex* from, std::ptrdiff_t stride, int lines, int first, int count) {
  const int length = transform_.length(), full = lines / batch, rest = lines % batch;
  for (int i = first; i < first + count; ++i, from += stride) {
    Element<T>* to = batches_.data() + i;
    for (int b = 0; b < full; ++b) to[b * length] = oriented<direction>(load_interleaved(from + b * batch));
    if (rest > 0) to[full * length] = oriented<direction>(load_some(from + full * batch, rest));
  }
}

template <typename T>
template <Direction direction>
void ComplexLines<T>::store_rows(Complex* to, std::ptrdiff_t stride, int lines, int first, int count) const {
  const int length = transform_.length(), full = lines / batch, rest = lines % batch;
  for (int i = first; i < first + count; ++i, to += stride) {
    const Element<T>* from = batches_.data() + i;
    for (int b = 0; b < full; ++b) store_interleaved(oriented<direction>(from[b * length]), to + b * batch);
    if (rest > 0) store_some(oriented<direction>(from[full * length]), to + full * batch, rest);
  }
}

template <typename T>
void ComplexLines<T>::clear_gap(int lines) {
  const int length = transform_.length();
  for (int b = 0; b * batch < lines; ++b) {
    Element<T>* line = batches_.data() + std::ptrdiff_t{b} * length;
    std::fill(line + kept_.low, line + length - kept_.high, Element<T>{});
  }
}

template <typename T>
void ComplexLines<T>::transform(int lines) {
  for (int b = 0; b * batch < lines; ++b)
    transform_.apply_in_place(batches_.data() + std::ptrdiff_t{b} * transform_.length(), scratch_.data());
}

template <typename T>
void ComplexLines<T>::forward(const Complex* cells, std::ptrdiff_t cells_stride, Complex* modes,
                              std::ptrdiff_t modes_stride, std::ptrdiff_t count) {
  constexpr auto direction = Direction::forward;
  const int length = transform_.length();
  if (length == 1 && cells == modes) return;
  for (std::ptrdiff_t first = 0; first < count; first += width_ * batch) {
    const int lines = static_cast<int>(std::min<std::ptrdiff_t>(width_ * batch, count - first));
    load_rows<direction>(cells + first, cells_stride, lines, 0, length);
    transform(lines);
    store_rows<direction>(modes + first, modes_stride, lines, 0, kept_.low);
    store_rows<direction>(modes + kept_.low * modes_stride + first, modes_stride, lines, length - kept_.high,
                          kept_.high);
  }
}

template <typename T>
void ComplexLines<T>::backward(const Complex* modes, std::ptrdiff_t modes_stride, Complex* cells,
                               std::ptrdiff_t cells_stride, std::ptrdiff_t count) {
  constexpr auto direction = Direction::backward;
  const int length = transform_.length();
  if (length == 1 && cells == modes) return;
  for (std::ptrdiff_t first = 0; first < count; first += width_ * batch) {
    const int lines = static_cast<int>(std::min<std::ptrdiff_t>(width_ * batch, count - first));
    clear_gap(lines);
    load_rows<direction>(modes + first, modes_stride, lines, 0, kept_.low);
    load_rows<direction>(modes + kept_.low * modes_stride + first, modes_stride, lines, length - kept_.high,
                         kept_.high);
    transform(lines);
    store_rows<direction>(cells + first, cells_stride, lines, 0, length);
  }
}

template void ComplexLines<double>::forward(const Complex*, std::ptrdiff_t, Complex*, std::ptrdiff_t, std::ptrdiff_t);
template void ComplexLines<double>::backward(const Complex*, std::ptrdiff_t, Complex*, std::ptrdiff_t, std::ptrdiff_t);
template void ComplexLines<float>::forward(const Complex*, std::ptrdiff_t, Complex*, std::ptrdiff_t, std::ptrdiff_t);
template void ComplexLines<float>::backward(const Complex*, std::ptrdiff_t, Complex*, std::ptrdiff_t, std::ptrdiff_t);

}  // namespace sidestream::fft
