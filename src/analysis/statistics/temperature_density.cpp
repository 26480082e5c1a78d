#include "analysis/statistics/temperature_density.hpp"

#include <algorithm>
#include <span>

#include "analysis/at.hpp"
#include "analysis/fields/levels.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

void TemperatureMedians::sum(const comm::Communicator& comm) {
  comm.sum(std::span(cells_));
}

std::vector<double> TemperatureMedians::middles() const {
  std::vector<double> middles;
  for (std::int32_t column = 0; column < columns_.size(); ++column) middles.push_back(columns_.center(column));
  return middles;
}

std::vector<double> TemperatureMedians::medians(int bits_a_level) const {
  std::vector<double> medians;
  for (std::int32_t column = 0; column < columns_.size(); ++column) {
    std::vector<double> below{0.0};  // volume below each edge, in cells of level 0
    for (std::size_t row = 0; row < rows(); ++row) {
      std::vector<std::int64_t> levels;
      for (std::size_t bin = at(column) * rows() + row; bin < cells_.size(); bin += all_bins())
        levels.push_back(cells_[bin]);
      below.push_back(below.back() + volume_weighted(levels, bits_a_level));
    }
    const double half = 0.5 * below.back();
    if (half == 0.0) {
      medians.push_back(0.0);
      continue;
    }
    const std::size_t row = at(std::ranges::upper_bound(below, half) - below.begin()) - 1;
    const double inside = (half - below[row]) / (below[row + 1] - below[row]);
    medians.push_back(edge(row) + inside * (edge(row + 1) - edge(row)));
  }
  return medians;
}

std::optional<TemperatureDensityRelation> fitted(const std::vector<double>& overdensity,
                                                 const std::vector<double>& medians) {
  if (std::ranges::find(medians, 0.0) != medians.end()) return std::nullopt;
  double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    const double u = core::log10(overdensity[i]), v = core::log10(medians[i]);
    x += u;
    y += v;
    xx += u * u;
    xy += u * v;
  }
  const auto n = static_cast<double>(medians.size());
  const double exponent = (n * xy - x * y) / (n * xx - x * x);
  return TemperatureDensityRelation{core::pow(10.0, (y - exponent * x) / n), exponent + 1.0};
}

}  // namespace sidestream::analysis
