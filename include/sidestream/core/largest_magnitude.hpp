#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace sidestream::core {

/// The largest magnitude of the numbers that were added; 0 of none. NaN counts as larger than infinity and so is never
/// lost, whatever comes after it: the order of magnitudes is that of their bits.
class LargestMagnitude {
 public:
  [[gnu::always_inline]] void add(double value) {
    const auto bits = std::bit_cast<std::int64_t>(std::fabs(value));
    bits_ = bits > bits_ ? bits : bits_;
  }
  double value() const { return std::bit_cast<double>(bits_); }

 private:
  std::int64_t bits_ = 0;
};

}  // namespace sidestream::core
