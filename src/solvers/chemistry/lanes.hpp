#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

/// Arithmetic of a few cells side by side, for one file of kernels. Nothing but sums, products, quotients and shifts of
/// bits, lane by lane: the bits of a lane depend neither on its neighbours, nor on how many there are, nor on the
/// instruction set.
namespace sidestream::solvers {

// As many as the widest vectors hold: the compiler takes selections in wider ones apart, cell by cell.
#if defined(__AVX512F__)
constexpr int lanes = 8;
#elif defined(__AVX__)
constexpr int lanes = 4;
#else
constexpr int lanes = 2;
#endif
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;
using Mask [[gnu::vector_size(lanes * sizeof(std::int64_t))]] = std::int64_t;  ///< all bits of a lane, or none
using Places [[gnu::vector_size(lanes * sizeof(std::int32_t))]] = std::int32_t;

[[gnu::always_inline]] inline Lanes all(double value) {
  return Lanes{} + value;
}
[[gnu::always_inline]] inline Lanes smaller_of(Lanes a, Lanes b) {
  return a < b ? a : b;
}
[[gnu::always_inline]] inline Lanes larger_of(Lanes a, Lanes b) {
  return a > b ? a : b;
}
[[gnu::always_inline]] inline Lanes magnitude(Lanes a) {
  return a < 0.0 ? -a : a;
}
[[gnu::always_inline]] inline bool any(Mask mask) {
  std::int64_t bits = 0;
  for (int l = 0; l < lanes; ++l) bits |= mask[l];
  return bits != 0;
}

/// The polynomial of these coefficients, lowest first, by Estrin's scheme: short chains of operations that wait for
/// each other.
template <int Terms>
[[gnu::always_inline]] inline Lanes polynomial(const double* coefficients, Lanes x) {
  if constexpr (Terms == 1) {
    return all(coefficients[0]);
  } else if constexpr (Terms == 2) {
    return coefficients[0] + coefficients[1] * x;
  } else {
    constexpr int half = static_cast<int>(std::bit_floor(static_cast<unsigned>(Terms - 1)));
    Lanes power = x;
    for (int n = 1; n < half; n *= 2) power *= power;
    return polynomial<half>(coefficients, x) + power * polynomial<Terms - half>(coefficients + half, x);
  }
}

/// e^x within 1e-14 of itself; beyond +-700 that of +-700. By powers of two and Taylor's series in |r| <= ln(2) / 2.
[[gnu::always_inline]] inline Lanes exponential(Lanes x) {
  constexpr double round = 6755399441055744.0;  // 1.5 * 2^52: the sum's lowest bits are an integer
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  const Lanes bounded = larger_of(smaller_of(x, all(700.0)), all(-700.0));
  const Lanes rounded = bounded * 1.4426950408889634074 + round, power = rounded - round;
  const Lanes r = (bounded - power * ln2_high) - power * ln2_low;
  constexpr double terms[] = {
      1.0,         1.0,          0.5,           1.0 / 6.0,      1.0 / 24.0,      1.0 / 120.0,
      1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0, 1.0 / 39916800.0};
  const Lanes sum = polynomial<12>(terms, r);
  return reinterpret_cast<Lanes>(reinterpret_cast<Mask>(sum) + (reinterpret_cast<Mask>(rounded) << 52));
}

/// ln x within 1e-14 absolutely, for normal numbers above zero. With m in [1/sqrt(2), sqrt(2)) of x = m 2^n by the
/// series of artanh((m - 1) / (m + 1)).
[[gnu::always_inline]] inline Lanes logarithm(Lanes x) {
  using Bits [[gnu::vector_size(sizeof(Mask))]] = std::uint64_t;
  constexpr std::uint64_t bits_of_one = 0x3ff0000000000000, bits_of_root_half = 0x3fe6a09e667f3bcd;
  constexpr std::uint64_t bits_of_2_52 = 0x4330000000000000;
  const Bits bits = reinterpret_cast<Bits>(x), power = (bits + (bits_of_one - bits_of_root_half)) >> 52;
  const Lanes m = reinterpret_cast<Lanes>(bits - (power << 52) + bits_of_one);
  const Lanes exponent = reinterpret_cast<Lanes>(power | bits_of_2_52) - (4503599627370496.0 + 1023.0);
  const Lanes f = (m - 1.0) / (m + 1.0), square = f * f;
  constexpr double terms[] = {1.0,        1.0 / 3.0,  1.0 / 5.0,  1.0 / 7.0, 1.0 / 9.0,
                              1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0};
  const Lanes sum = polynomial<9>(terms, square);
  return exponent * 6.93147180559945309417e-01 + 2.0 * f * sum;
}

[[gnu::always_inline]] inline Lanes load(const double* from) {
  Lanes values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

}  // namespace sidestream::solvers
