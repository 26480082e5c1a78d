#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::analysis {

__extension__ using Int128 = __int128;

/// Doubles as 128-bit multiples of a power of two, so that sums do not depend on the order of their terms. Numbers down
/// to 2^-23 of the largest magnitude lose no bit; a smaller one is off by less than 2^-76 of the largest. Sums have
/// room for 2^50 terms.
class FixedPoint {
 public:
  /// For numbers of magnitude up to `largest`, which is finite. The same on all ranks.
  explicit FixedPoint(double largest) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    shift_ = std::clamp(bits - exponent, -900, 900);
    scale_ = std::ldexp(1.0, shift_);
  }

  Int128 of(double number) const { return static_cast<Int128>(number * scale_); }
  double value(Int128 sum) const { return std::ldexp(static_cast<double>(sum), -shift_); }

 private:
  static constexpr int bits = 76;
  int shift_ = 0;
  double scale_ = 1.0;
};

/// The largest magnitude of a field's values on any rank. Collective.
inline double largest_magnitude(const comm::Communicator& comm, const mesh::Field<double>& field) {
  double largest = 0.0;
  for (const double value : field.all()) largest = std::max(largest, std::abs(value));
  return comm.max(largest);
}

/// Element-wise sum over all ranks, in place. Collective.
inline void sum_over_ranks(const comm::Communicator& comm, std::span<Int128> values) {
  constexpr Int128 low = 0xffffffff;
  std::vector<std::int64_t> parts;
  parts.reserve(4 * values.size());
  for (const Int128 value : values)
    for (int part = 0; part < 4; ++part)  // 32 bits each; the last one keeps the sign
      parts.push_back(static_cast<std::int64_t>(part < 3 ? (value >> (32 * part)) & low : value >> 96));
  comm.sum(std::span(parts));
  for (std::size_t v = 0; v < values.size(); ++v) {
    values[v] = 0;
    for (std::size_t part = 4; part-- > 0;) values[v] = values[v] * (low + 1) + parts[4 * v + part];
  }
}

}  // namespace sidestream::analysis
