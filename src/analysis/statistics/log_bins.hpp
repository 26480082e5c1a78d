#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

/// Bins of equal width in the logarithm between two positive numbers. A number belongs to the bin with low edge <=
/// number < high edge, decided by comparison with the edges, so that it is exact; a table over the leading bits makes
/// it quick.
class LogBins {
 public:
  LogBins(double low, double high, std::int64_t count) {
    core::require(low > 0 && high > low && std::isfinite(high) && count > 0,
                  "bins go from a positive number to a larger one, and there is at least one");
    const double decades = core::log10(high) - core::log10(low);
    edges_.push_back(low);
    for (std::int64_t i = 1; i < count; ++i)
      edges_.push_back(low * core::pow(10.0, decades * static_cast<double>(i) / static_cast<double>(count)));
    edges_.push_back(high);
    first_key_ = key(low);
    std::int32_t bin = 0;
    for (std::uint64_t k = first_key_; k <= key(high); ++k) {
      const double start = std::bit_cast<double>(k << dropped_bits);
      while (bin + 1 < size() && edge(bin + 1) <= start) ++bin;
      guess_.push_back(bin);
    }
  }

  std::int32_t size() const { return static_cast<std::int32_t>(edges_.size()) - 1; }
  double edge(std::int32_t i) const { return edges_[static_cast<std::size_t>(i)]; }
  double center(std::int32_t i) const { return std::sqrt(edge(i) * edge(i + 1)); }
  double width_dex(std::int32_t i) const { return core::log10(edge(i + 1) / edge(i)); }

  /// The bin of a number, -1 below the first edge (and for NaN), size() from the last edge on.
  std::int32_t find(double number) const {
    if (!(number >= edges_.front())) return -1;
    if (number >= edges_.back()) return size();
    std::int32_t bin = guess_[static_cast<std::size_t>(key(number) - first_key_)];
    bin += static_cast<std::int32_t>(number >= edge(bin + 1));  // without a branch, which no processor foresees
    while (number >= edge(bin + 1)) ++bin;
    return bin;
  }

 private:
  static constexpr int dropped_bits = 52 - 6;  // keeps the exponent and six bits of the mantissa
  static std::uint64_t key(double number) { return std::bit_cast<std::uint64_t>(number) >> dropped_bits; }

  std::vector<double> edges_;
  std::vector<std::int32_t> guess_;  // the bin of the smallest number with each key
  std::uint64_t first_key_ = 0;
};

}  // namespace sidestream::analysis
