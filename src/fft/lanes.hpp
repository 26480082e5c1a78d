#pragma once

#include <complex>
#include <cstddef>
#include <cstring>

namespace sidestream::fft {

/// Lines that are transformed together: one number of each line in a vector of `batch` lanes. All arithmetic is lane by
/// lane, so the bits of a line depend neither on its lane nor on its neighbours, nor on the instruction set that the
/// compiler lowers it to.
constexpr int batch = 8;
template <typename T>
struct LanesOf;
template <>
struct LanesOf<double> {
  using Vector [[gnu::vector_size(batch * sizeof(double))]] = double;
};
template <>
struct LanesOf<float> {
  using Vector [[gnu::vector_size(batch * sizeof(float))]] = float;
};
template <typename T>
using Lanes = typename LanesOf<T>::Vector;

/// One complex element of each line of a batch. Aligned for the widest vectors, whatever this file is compiled for:
/// arrays are made by code of one instruction set and transformed by that of another.
template <typename T>
struct alignas(batch * sizeof(T)) Element {
  Lanes<T> re, im;

  friend Element operator+(const Element& a, const Element& b) { return {a.re + b.re, a.im + b.im}; }
  friend Element operator-(const Element& a, const Element& b) { return {a.re - b.re, a.im - b.im}; }
  friend Element operator*(const Element& a, T factor) { return {a.re * factor, a.im * factor}; }
  friend Element operator*(const Element& a, const std::complex<T>& w) {
    return {a.re * w.real() - a.im * w.imag(), a.re * w.imag() + a.im * w.real()};
  }
};
template <typename T>
Element<T> conj(const Element<T>& a) {
  return {a.re, -a.im};
}
template <typename T>
Element<T> times_i(const Element<T>& a) {
  return {-a.im, a.re};
}
template <typename T>
Element<T> times_minus_i(const Element<T>& a) {
  return {a.im, -a.re};
}
/// i times the conjugate: a backward transform is the forward one between two of these.
template <typename T>
Element<T> swapped(const Element<T>& a) {
  return {a.im, a.re};
}

template <typename T>
Lanes<T> load(const T* from) {
  Lanes<T> lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
template <typename Vector, typename T>
void store(const Vector& lanes, T* to) {
  std::memcpy(to, &lanes, sizeof lanes);
}

/// An array of elements as an array of numbers [length][2][batch]: real parts of all lanes, imaginary parts, real
/// parts, ...
template <typename T>
T* numbers_of(Element<T>* elements) {
  return reinterpret_cast<T*>(elements);
}
template <typename T>
const T* numbers_of(const std::complex<T>* values) {
  return reinterpret_cast<const T*>(values);
}
template <typename T>
T* numbers_of(std::complex<T>* values) {
  return reinterpret_cast<T*>(values);
}

/// `batch` neighbouring complex numbers as an element, and back.
template <typename T>
Element<T> load_interleaved(const std::complex<T>* from) {
  const Lanes<T> low = load(numbers_of(from)), high = load(numbers_of(from) + batch);
  return {__builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14),
          __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15)};
}
template <typename T>
void store_interleaved(const Element<T>& element, std::complex<T>* to) {
  store(__builtin_shufflevector(element.re, element.im, 0, 8, 1, 9, 2, 10, 3, 11), numbers_of(to));
  store(__builtin_shufflevector(element.re, element.im, 4, 12, 5, 13, 6, 14, 7, 15), numbers_of(to) + batch);
}

/// Swaps the off-diagonal blocks of 1, 2 or 4 lanes of two rows of a square.
template <typename Vector>
void swap_blocks_of_1(Vector& upper, Vector& lower) {
  const Vector a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
  lower = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}
template <typename Vector>
void swap_blocks_of_2(Vector& upper, Vector& lower) {
  const Vector a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
  lower = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
template <typename Vector>
void swap_blocks_of_4(Vector& upper, Vector& lower) {
  const Vector a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
  lower = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}

/// Copies a square of `batch` rows of `batch` numbers, transposed (Eklundh 1972). Strides in numbers. Written out, so
/// that the square stays in registers.
template <typename T>
void transpose(const T* from, std::ptrdiff_t from_stride, T* to, std::ptrdiff_t to_stride) {
  Lanes<T> a = load(from), b = load(from + from_stride), c = load(from + 2 * from_stride),
           d = load(from + 3 * from_stride);
  Lanes<T> e = load(from + 4 * from_stride), f = load(from + 5 * from_stride), g = load(from + 6 * from_stride),
           h = load(from + 7 * from_stride);
  swap_blocks_of_1(a, b);
  swap_blocks_of_1(c, d);
  swap_blocks_of_1(e, f);
  swap_blocks_of_1(g, h);
  swap_blocks_of_2(a, c);
  swap_blocks_of_2(b, d);
  swap_blocks_of_2(e, g);
  swap_blocks_of_2(f, h);
  swap_blocks_of_4(a, e);
  swap_blocks_of_4(b, f);
  swap_blocks_of_4(c, g);
  swap_blocks_of_4(d, h);
  store(a, to);
  store(b, to + to_stride);
  store(c, to + 2 * to_stride);
  store(d, to + 3 * to_stride);
  store(e, to + 4 * to_stride);
  store(f, to + 5 * to_stride);
  store(g, to + 6 * to_stride);
  store(h, to + 7 * to_stride);
}

}  // namespace sidestream::fft
