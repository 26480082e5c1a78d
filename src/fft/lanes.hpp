#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace sidestream::fft {

/// Lines that are transformed together, whatever the instruction set: one number of each line in `batch` lanes.
constexpr int batch = 8;

/// One complex element of each line of a batch. Aligned for the widest vectors, whatever this file is compiled for:
/// arrays are made by code of one instruction set and transformed by that of another.
template <typename T>
struct alignas(batch * sizeof(T)) Element {
  T re[batch], im[batch];
};

#if defined(__AVX512F__)
constexpr std::size_t register_bytes = 64;
#elif defined(__AVX__)
constexpr std::size_t register_bytes = 32;
#else
constexpr std::size_t register_bytes = 16;
#endif
/// Lanes that a vector register holds: the compiler moves the pieces of wider ones through memory.
template <typename T>
constexpr int width = std::min<int>(batch, register_bytes / sizeof(T));
template <typename T>
struct LanesOf;
template <>
struct LanesOf<double> {
  using Vector [[gnu::vector_size(width<double> * sizeof(double))]] = double;
};
template <>
struct LanesOf<float> {
  using Vector [[gnu::vector_size(width<float> * sizeof(float))]] = float;
};
/// The same number of `width` lines. All arithmetic is lane by lane, so the bits of a line depend neither on its lane
/// nor on its neighbours, nor on how many there are.
template <typename T>
using Lanes = typename LanesOf<T>::Vector;

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

/// `width` lanes of an element.
template <typename T>
struct Part {
  Lanes<T> re, im;

  friend Part operator+(const Part& a, const Part& b) { return {a.re + b.re, a.im + b.im}; }
  friend Part operator-(const Part& a, const Part& b) { return {a.re - b.re, a.im - b.im}; }
  friend Part operator*(const Part& a, T factor) { return {a.re * factor, a.im * factor}; }
  friend Part operator*(const Part& a, const std::complex<T>& w) {
    return {a.re * w.real() - a.im * w.imag(), a.re * w.imag() + a.im * w.real()};
  }
};
template <typename T>
Part<T> conj(const Part<T>& a) {
  return {a.re, -a.im};
}
template <typename T>
Part<T> times_i(const Part<T>& a) {
  return {-a.im, a.re};
}
template <typename T>
Part<T> times_minus_i(const Part<T>& a) {
  return {a.im, -a.re};
}
/// i times the conjugate: a backward transform is the forward one between two of these.
template <typename T>
Part<T> swapped(const Part<T>& a) {
  return {a.im, a.re};
}

/// The part of an element that begins at a lane.
template <typename T>
Part<T> part_of(const Element<T>& element, int lane) {
  return {load(element.re + lane), load(element.im + lane)};
}
template <typename T>
void put(const Part<T>& part, Element<T>& element, int lane) {
  store(part.re, element.re + lane);
  store(part.im, element.im + lane);
}
/// Calls `f(lane)` for the first lane of each part.
template <typename T, typename F>
void for_each_part(F f) {
  for (int lane = 0; lane < batch; lane += width<T>) f(lane);
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

/// The lanes of two vectors, one behind the other, in another order: lane l is that of `order(l)`.
template <auto order, typename Vector>
Vector shuffled(const Vector& a, const Vector& b) {
  return [&]<int... lane>(std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, b, order(lane)...);
  }
  (std::make_integer_sequence<int, sizeof(Vector) / sizeof(a[0])>{});
}

/// `width` neighbouring complex numbers as a part of an element, and back.
template <typename T>
Part<T> load_interleaved(const std::complex<T>* from) {
  constexpr auto even = [](int l) { return 2 * l; };
  constexpr auto odd = [](int l) { return 2 * l + 1; };
  const Lanes<T> low = load(numbers_of(from)), high = load(numbers_of(from) + width<T>);
  return {shuffled<even>(low, high), shuffled<odd>(low, high)};
}
template <typename T>
void store_interleaved(const Part<T>& part, std::complex<T>* to) {
  constexpr auto low = [](int l) { return l / 2 + l % 2 * width<T>; };
  constexpr auto high = [](int l) { return l / 2 + l % 2 * width<T> + width<T> / 2; };
  store(shuffled<low>(part.re, part.im), numbers_of(to));
  store(shuffled<high>(part.re, part.im), numbers_of(to) + width<T>);
}

/// Calls `f` for 0 to count - 1 as constants, written out: an array whose places are constants stays in registers.
template <int count, typename F>
void written_out(F f) {
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (f(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, count>{});
}

/// Swaps the off-diagonal blocks of `size` lanes of the rows of a square, and then those of half the size, ...
template <int size, typename Vector, int count>
void swap_blocks(Vector (&rows)[count]) {
  constexpr auto upper = [](int l) { return l & size ? count + l - size : l; };
  constexpr auto lower = [](int l) { return l & size ? count + l : l + size; };
  written_out<count>([&](auto row) {
    if constexpr ((row & size) == 0) {
      const Vector a = rows[row], b = rows[row + size];
      rows[row] = shuffled<upper>(a, b);
      rows[row + size] = shuffled<lower>(a, b);
    }
  });
  if constexpr (size > 1) swap_blocks<size / 2>(rows);
}

/// Copies a square of `batch` rows of `batch` numbers, transposed, by squares that fit into registers (Eklundh 1972).
/// Strides in numbers.
template <typename T>
void transpose(const T* from, std::ptrdiff_t from_stride, T* to, std::ptrdiff_t to_stride) {
  constexpr int side = width<T>;
  for (int i = 0; i < batch; i += side)
    for (int j = 0; j < batch; j += side) {
      Lanes<T> rows[side];
      written_out<side>([&](auto l) { rows[l] = load(from + (i + l) * from_stride + j); });
      swap_blocks<side / 2>(rows);
      written_out<side>([&](auto l) { store(rows[l], to + (j + l) * to_stride + i); });
    }
}

}  // namespace sidestream::fft
