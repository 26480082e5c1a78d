#include "analysis/turbulence/moments.hpp"

#include <cmath>
#include <numeric>

namespace sidestream::analysis {

std::vector<double> PowerSums::means(const comm::Communicator& comm) const {
  std::vector<core::ExactSum> sums(sums_.size());
  for (std::size_t p = 0; p < sums_.size(); ++p) sums_[p].add_to(sums[p]);
  comm.sum(std::span(sums));
  const auto count = static_cast<double>(comm.sum(count_));
  std::vector<double> means;
  for (const core::ExactSum& sum : sums) means.push_back(count == 0.0 ? 0.0 : sum.value() / count);
  return means;
}

double skewness(std::span<const double> means) {
  return means[1] > 0.0 ? means[2] / (means[1] * std::sqrt(means[1])) : 0.0;
}

double flatness(std::span<const double> means) {
  return means[1] > 0.0 ? means[3] / (means[1] * means[1]) : 0.0;
}

std::vector<double> DeviationCounts::density(const comm::Communicator& comm) const {
  std::vector<std::int64_t> counts = counts_;
  comm.sum(std::span(counts));
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::vector<double> density(static_cast<std::size_t>(bins_.count));
  for (std::size_t bin = 0; bin < density.size() && total > 0.0; ++bin)
    density[bin] = static_cast<double>(counts[bin]) / (total * bins_.bin_width());
  return density;
}

}  // namespace sidestream::analysis
