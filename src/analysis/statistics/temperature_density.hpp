#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/statistics/log_bins.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// T = T0 Delta^(gamma - 1)
struct TemperatureDensityRelation {
  double mean_density_temperature = 0.0;  ///< T0 [K]
  double slope = 0.0;                     ///< gamma
};

/// Median temperatures of gas near its mean density and the straight line through their logarithms: ten bins of
/// overdensity from 0.3 to 3, of equal width in the logarithm, and gas from 1 K to below 1e5 K, by volume, as in Lukic
/// et al. 2015 (MNRAS 446, 3697). Cells are counted in bins of 0.002 dex of temperature, in which they count as spread
/// evenly over log T: no median is further off than such a bin, whatever the ranks.
class TemperatureMedians {
 public:
  explicit TemperatureMedians(std::size_t levels) : cells_(levels * all_bins()) {}

  void add(std::size_t level, double overdensity, double temperature) {
    const std::int32_t column = columns_.find(overdensity);
    if (column < 0 || column == columns_.size()) return;
    if (!(temperature >= coldest && temperature < hottest)) return;
    ++cells_[level * all_bins() + static_cast<std::size_t>(column) * rows() + key(temperature) - key(coldest)];
  }
  /// Adds up what all ranks have. Collective.
  void sum(const comm::Communicator& comm);

  /// Of each bin of overdensity the middle, and the median [K]; 0 where there is no gas. A level of refinement divides
  /// a cell into 2^`bits_a_level`.
  std::vector<double> middles() const;
  std::vector<double> medians(int bits_a_level) const;

 private:
  static constexpr double coldest = 1.0, hottest = 1e5;  // [K]
  static constexpr int dropped_bits = 52 - 8;            // of the mantissa
  static constexpr std::size_t key(double number) { return std::bit_cast<std::uint64_t>(number) >> dropped_bits; }
  static constexpr double edge(std::size_t row) { return std::bit_cast<double>((key(coldest) + row) << dropped_bits); }
  static constexpr std::size_t rows() { return key(hottest) - key(coldest) + 1; }

  std::size_t all_bins() const { return static_cast<std::size_t>(columns_.size()) * rows(); }

  LogBins columns_{0.3, 3.0, 10};
  std::vector<std::int64_t> cells_;  // of levels, overdensities (slow) and temperatures (fast)
};

/// The line through medians at overdensities, by least squares in the logarithms; nothing where a median is 0.
std::optional<TemperatureDensityRelation> fitted(const std::vector<double>& overdensity,
                                                 const std::vector<double>& medians);

}  // namespace sidestream::analysis
