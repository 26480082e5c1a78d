#include <algorithm>
#include <array>

#include "fft/lines.hpp"

namespace sidestream::fft {

namespace {

template <Direction direction, typename T>
Part<T> oriented(const Part<T>& part) {
  return direction == Direction::forward ? part : swapped(part);
}

template <Direction direction, typename T>
void load_batch(const std::complex<T>* from, Element<T>& to) {
  for_each_part<T>([&](int lane) { put(oriented<direction>(load_interleaved(from + lane)), to, lane); });
}

template <Direction direction, typename T>
void store_batch(const Element<T>& from, std::complex<T>* to) {
  for_each_part<T>([&](int lane) { store_interleaved(oriented<direction>(part_of(from, lane)), to + lane); });
}

// A grid of 2^n cells has 2^(n-1) + 1 modes along x, so that batches of a single line are common.
template <Direction direction, typename T>
void load_some(const std::complex<T>* from, int count, Element<T>& to) {
  std::array<std::complex<T>, batch> numbers{};
  std::copy_n(from, count, numbers.data());
  load_batch<direction>(numbers.data(), to);
}

template <Direction direction, typename T>
void store_some(const Element<T>& from, std::complex<T>* to, int count) {
  std::array<std::complex<T>, batch> numbers;
  store_batch<direction>(from, numbers.data());
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
    for (int b = 0; b < full; ++b) load_batch<direction>(from + b * batch, to[b * length]);
    if (rest > 0) load_some<direction>(from + full * batch, rest, to[full * length]);
  }
}

template <typename T>
template <Direction direction>
void ComplexLines<T>::store_rows(Complex* to, std::ptrdiff_t stride, int lines, int first, int count) const {
  const int length = transform_.length(), full = lines / batch, rest = lines % batch;
  for (int i = first; i < first + count; ++i, to += stride) {
    const Element<T>* from = batches_.data() + i;
    for (int b = 0; b < full; ++b) store_batch<direction>(from[b * length], to + b * batch);
    if (rest > 0) store_some<direction>(from[full * length], to + full * batch, rest);
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
