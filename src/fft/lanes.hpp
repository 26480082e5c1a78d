#pragma once

#include <complex>
#include <cstddef>
#include <cstring>

namespace sidestream::fft {

/// Lines that are transformed together: one number of each line in a vector of `batch` lanes. All arithmetic is lane by
/// lane, so the bits of a line depend neither on its lane nor on its neighbours, nor on the instruction set that the
/// compiler lowers it to.
constexpr int batch = 8;
using Lanes [[gnu::vector_size(batch * sizeof(double))]] = double;

/// One complex element of each line of a batch. Aligned for the widest vectors, whatever this file is compiled for:
/// arrays are made by code of one instruction set and transformed by that of another.
struct alignas(batch * sizeof(double)) Element {
  Lanes re, im;

  friend Element operator+(const Element& a, const Element& b) { return {a.re + b.re, a.im + b.im}; }
  friend Element operator-(const Element& a, const Element& b) { return {a.re - b.re, a.im - b.im}; }
  friend Element operator*(const Element& a, double factor) { return {a.re * factor, a.im * factor}; }
  friend Element operator*(const Element& a, const std::complex<double>& w) {
    return {a.re * w.real() - a.im * w.imag(), a.re * w.imag() + a.im * w.real()};
  }
};
inline Element conj(const Element& a) {
  return {a.re, -a.im};
}
inline Element times_i(const Element& a) {
  return {-a.im, a.re};
}
inline Element times_minus_i(const Element& a) {
  return {a.im, -a.re};
}

inline Lanes load(const double* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline void store(const Lanes& lanes, double* to) {
  std::memcpy(to, &lanes, sizeof lanes);
}

/// `batch` neighbouring complex numbers as an element, and back.
inline Element load_interleaved(const std::complex<double>* from) {
  const auto* numbers = reinterpret_cast<const double*>(from);
  const Lanes low = load(numbers), high = load(numbers + batch);
  return {__builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14),
          __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15)};
}
inline void store_interleaved(const Element& element, std::complex<double>* to) {
  auto* numbers = reinterpret_cast<double*>(to);
  store(__builtin_shufflevector(element.re, element.im, 0, 8, 1, 9, 2, 10, 3, 11), numbers);
  store(__builtin_shufflevector(element.re, element.im, 4, 12, 5, 13, 6, 14, 7, 15), numbers + batch);
}

/// Swaps the off-diagonal blocks of 1, 2 or 4 lanes of two rows of a square.
inline void swap_blocks_of_1(Lanes& upper, Lanes& lower) {
  const Lanes a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
  lower = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}
inline void swap_blocks_of_2(Lanes& upper, Lanes& lower) {
  const Lanes a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
  lower = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
inline void swap_blocks_of_4(Lanes& upper, Lanes& lower) {
  const Lanes a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
  lower = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}

/// Copies a square of `batch` rows of `batch` numbers, transposed (Eklundh 1972). Strides in numbers. Written out, so
/// that the square stays in registers.
inline void transpose(const double* from, std::ptrdiff_t from_stride, double* to, std::ptrdiff_t to_stride) {
  Lanes a = load(from), b = load(from + from_stride), c = load(from + 2 * from_stride),
        d = load(from + 3 * from_stride);
  Lanes e = load(from + 4 * from_stride), f = load(from + 5 * from_stride), g = load(from + 6 * from_stride),
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
