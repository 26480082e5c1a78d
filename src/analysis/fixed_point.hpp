#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/exact_sum.hpp"

namespace sidestream::analysis {

__extension__ using Int128 = __int128;

/// Doubles as 128-bit multiples of a power of two, so that sums do not depend on the order of their terms. Numbers down
/// to 2^-23 of the largest magnitude lose no bit; a smaller one is off by less than 2^-76 of the largest. Sums have
/// room for 2^50 terms.
class FixedPoint {
 public:
  /// For numbers of magnitude up to `largest`, which is finite. The same on all ranks. For sums with whole weights that
  /// add up to 2^`weight_bits`, where that is more than 2^50, numbers have as many bits less.
  explicit FixedPoint(double largest, int weight_bits = 0) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    exponent += std::max(0, weight_bits - 50);
    shift_ = std::clamp(bits - exponent, -900, 900);
    scale_ = std::ldexp(1.0, shift_);
  }

  Int128 of(double number) const { return static_cast<Int128>(number * scale_); }
  double value(Int128 sum) const { return std::ldexp(static_cast<double>(sum), -shift_); }
  /// Adds `sum` times 2^`exponent` to `total`, without rounding.
  void add(Int128 sum, int exponent, core::ExactSum& total) const {
    constexpr int digits = 43;
    for (int part = 0; part < 3; ++part) {  // the last one keeps the sign
      const Int128 digit = part < 2 ? (sum >> (digits * part)) & ((Int128{1} << digits) - 1) : sum >> (digits * part);
      total.add(std::ldexp(static_cast<double>(digit), digits * part - shift_ + exponent));
    }
  }

 private:
  static constexpr int bits = 76;
  int shift_ = 0;
  double scale_ = 1.0;
};

/// A 128-bit integer as four of 64 bits with 32 bits each, of which the last keeps the sign: sums of up to 2^31 of
/// them, limb by limb, make the sum.
constexpr int limb_count = 4;
using Limbs = std::array<std::int64_t, limb_count>;

inline Limbs limbs_of(Int128 value) {
  Limbs limbs{};
  for (std::size_t limb = 0; limb < limb_count; ++limb, value >>= 32)
    limbs[limb] = static_cast<std::int64_t>(limb + 1 < limb_count ? value & 0xffffffff : value);
  return limbs;
}
inline Int128 joined(const Limbs& limbs) {
  Int128 value = 0;
  for (std::size_t limb = limb_count; limb-- > 0;) value = value * (Int128{1} << 32) + limbs[limb];
  return value;
}

/// Element-wise sum over all ranks, in place. Collective.
inline void sum_over_ranks(const comm::Communicator& comm, std::span<Int128> values) {
  std::vector<std::int64_t> sums;
  sums.reserve(limb_count * values.size());
  for (const Int128 value : values) {
    const Limbs limbs = limbs_of(value);
    sums.insert(sums.end(), limbs.begin(), limbs.end());
  }
  comm.sum(std::span(sums));
  for (std::size_t v = 0; v < values.size(); ++v) {
    Limbs limbs;
    std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(limb_count * v), limb_count, limbs.begin());
    values[v] = joined(limbs);
  }
}

}  // namespace sidestream::analysis
