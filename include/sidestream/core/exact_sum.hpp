#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace sidestream::core {

__extension__ using Int128 = __int128;

/// A finite double as `multiple` * 2^(`place` - 1074), with |multiple| < 2^53 and place >= 0.
struct WholeTerm {
  std::int64_t multiple = 0;
  int place = 0;

  explicit WholeTerm(double term) {
    const auto bits = std::bit_cast<std::uint64_t>(term);
    const int exponent = static_cast<int>(bits >> mantissa_bits) & 0x7ff;
    // A normal number has an implicit leading bit; a subnormal one has the exponent of the smallest normal number.
    const int is_normal = static_cast<int>(exponent != 0);
    const auto mantissa = static_cast<std::int64_t>((bits & ((std::uint64_t{1} << mantissa_bits) - 1)) |
                                                    (static_cast<std::uint64_t>(is_normal) << mantissa_bits));
    const std::int64_t sign = -static_cast<std::int64_t>(bits >> 63);
    multiple = (mantissa ^ sign) - sign;
    place = exponent - is_normal;
  }
  /// The place of infinities and NaN, which no finite double has.
  static constexpr int not_finite = 2046;
  bool is_finite() const { return place != not_finite; }

 private:
  static constexpr int mantissa_bits = 52;
};

/// The double next to `magnitude` * 2^(`place` - 1074), rounded to nearest and ties to even; infinite beyond the
/// largest double. `more`: whether a positive number below the last bit of `magnitude` is to be added.
double rounded(unsigned __int128 magnitude, bool more, int place);

/// A sum of doubles without any rounding error: whatever the order of the terms and however they were split among
/// blocks, threads and ranks, `value()` is the same correctly rounded double. (R. M. Neal 2015, arXiv:1505.05571, the
/// small superaccumulator: chunks of 64 bits that overlap by 32.) About 6 ns a term and 600 bytes.
///
/// Range: all finite doubles, down to the smallest subnormal number, each times 2^power for powers from 0 to 96, in
/// numbers up to 2^40 of the largest of these. No term is ever lost. A sum beyond the largest double is infinite.
class ExactSum {
 public:
  static constexpr int chunks = 74;
  static constexpr int highest_power = 96;
  static constexpr int highest_place = WholeTerm::not_finite + highest_power + 86;

  /// Adds a term times 2^`power`. Infinities and NaN make `value()` a NaN.
  void add(double term, int power = 0) {
    const WholeTerm whole(term);
    if (whole.is_finite())
      add(whole.multiple, whole.place + power);
    else
      ++chunk_[chunks - 1];
  }
  void add(std::span<const double> terms) {
    for (const double term : terms) add(term);
  }
  /// Adds `multiple` * 2^(`place` - 1074), with |multiple| < 2^63 and 0 <= place <= `highest_place`.
  void add(std::int64_t multiple, int place);
  ExactSum& operator+=(const ExactSum& other);

  /// The correctly rounded (to nearest) sum of all terms, times 2^`power`.
  double value(int power = 0) const;

  /// The state as integers that may be added element by element over up to 2^20 ranks (call `normalize` first).
  /// The last element counts the terms that were not finite.
  std::span<std::int64_t, chunks> state() { return chunk_; }
  /// Adds to an element of the state of a sum what that of another, normalized, holds there.
  void add_to_state(std::size_t element, std::int64_t digit) {
    chunk_[element] += digit;
    if (--room_ == 0) normalize();
  }

  /// Carries what exceeds 32 bits from each chunk to the next, so that states can be added without overflow.
  void normalize();

 private:
  std::array<std::int64_t, chunks> chunk_{};
  int room_ = 1 << 20;
};

}  // namespace sidestream::core
