#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sidestream::core {

/// A sum of doubles without any rounding error: whatever the order of the terms and however they were split among
/// blocks, threads and ranks, `value()` is the same correctly rounded double. (R. M. Neal 2015, arXiv:1505.05571, the
/// small superaccumulator: chunks of 64 bits that overlap by 32.) About 6 ns a term and 550 bytes.
class ExactSum {
 public:
  static constexpr int chunks = 68;

  /// Adds a term. Infinities and NaN make `value()` a NaN.
  void add(double term);
  void add(std::span<const double> terms) {
    for (const double term : terms) add(term);
  }
  ExactSum& operator+=(const ExactSum& other);

  /// The correctly rounded (to nearest) sum of all terms.
  double value() const;

  /// The state as integers that may be added element by element over up to 2^20 ranks (call `normalize` first).
  /// The last element counts the terms that were not finite.
  std::span<std::int64_t, chunks> state() { return chunk_; }

  /// Carries what exceeds 32 bits from each chunk to the next, so that states can be added without overflow.
  void normalize();

 private:
  std::array<std::int64_t, chunks> chunk_{};
  int room_ = 1 << 20;
};

}  // namespace sidestream::core
