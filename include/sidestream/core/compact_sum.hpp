#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "sidestream/core/exact_sum.hpp"

namespace sidestream::core {

/// A part of an exact sum, to be sent to another rank.
struct SumPortion {
  std::int64_t high = 0;
  std::uint64_t low = 0;
  std::int64_t place = 0;  ///< of the window; a digit of the sum beyond it has a negative one
};
static_assert(std::is_trivially_copyable_v<SumPortion>);

/// An exact sum like `ExactSum`, of the same range and the same bits, for where there are many: 32 bytes and 2 ns a
/// term. The first term opens a window of 128 bits around itself: terms from 2^-21 of it to 2^21 times as large are
/// added there. What lies outside goes to an `ExactSum` of its own that is made when it is first needed, so that one
/// absurd term costs memory and no accuracy.
class CompactSum {
 public:
  /// Adds a term times 2^`power`, for powers from 0 to `ExactSum::highest_power`. Infinities and NaN make `value()` a
  /// NaN.
  void add(double term, int power = 0) {
    const WholeTerm whole(term);
    const int shift = whole.place + power - place_;
    if (static_cast<unsigned>(shift) <= window_shifts && room_ > 0 && whole.is_finite()) {
      --room_;
      window_ += Int128{whole.multiple} << shift;
    } else {
      add_elsewhere(whole, power);
    }
  }
  /// Adds a term so many times, below 2^62.
  void add_times(double term, std::int64_t times) {
    for (int power = 0; times > 0; ++power, times >>= 1)
      if ((times & 1) != 0) add(term, power);
  }

  /// Calls `f(portion)` for portions that together make the sum: none of nothing, mostly one.
  template <typename F>
  void for_each_portion(F f) const {
    if (window_ != 0)
      f(SumPortion{static_cast<std::int64_t>(window_ >> 64), static_cast<std::uint64_t>(window_), place_});
    if (!beyond_) return;
    ExactSum rest = *beyond_;
    rest.normalize();
    for (std::int64_t digit = 0; digit < ExactSum::chunks; ++digit)
      if (const std::int64_t value = rest.state()[static_cast<std::size_t>(digit)]; value != 0)
        f(SumPortion{value, 0, -1 - digit});
  }
  void add(const SumPortion& portion);
  /// Adds what was added here to `sum`.
  void add_to(ExactSum& sum) const;
  void add(const CompactSum& other) {
    other.for_each_portion([this](const SumPortion& portion) { add(portion); });
  }

  /// The correctly rounded (to nearest) sum of all terms, times 2^`power`.
  double value(int power = 0) const;

 private:
  // Each term in the window is below 2^term_bits, and it holds at most 2^window_bits.
  static constexpr unsigned window_shifts = 42;
  static constexpr int term_bits = 95, window_bits = 126;
  static constexpr std::int32_t most_terms = 1 << 30;
  static constexpr std::int32_t nowhere = -(1 << 20);

  void add_elsewhere(const WholeTerm& term, int power);
  void set_window(Int128 window, int place);
  ExactSum& beyond();

  Int128 window_ = 0;  // times 2^(place_ - 1074)
  std::int32_t place_ = nowhere;
  std::int32_t room_ = most_terms;  // for so many more terms
  std::unique_ptr<ExactSum> beyond_;
};

}  // namespace sidestream::core
