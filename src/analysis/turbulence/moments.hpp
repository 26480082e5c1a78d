#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/config.hpp"

namespace sidestream::analysis {

/// Exact sums of powers of numbers.
class PowerSums {
 public:
  /// Of the powers 1 to `highest`.
  explicit PowerSums(int highest) : sums_(static_cast<std::size_t>(highest)) {}

  void add(double value) {
    double power = value;
    for (core::CompactSum& sum : sums_) {
      sum.add(power);
      power *= value;
    }
    ++count_;
  }
  std::int64_t count() const { return count_; }
  /// Adds up the ranks: the mean of the powers 1 to highest, on all of them. Collective.
  std::vector<double> means(const comm::Communicator& comm) const;

 private:
  std::vector<core::CompactSum> sums_;
  std::int64_t count_ = 0;
};

/// <x^p> / <x^2>^(p/2): of p = 3 the skewness, of 4 the flatness, of numbers whose mean is 0; 0 where all are 0.
/// `means` are those of the powers 1 to 4.
double skewness(std::span<const double> means);
double flatness(std::span<const double> means);

/// What the options of histograms over the standard deviation say.
struct DeviationBins {
  double width = 10.0;     ///< the bins reach so many standard deviations to both sides
  std::int64_t count = 0;  ///< 0: no histograms

  /// To the table of `T`, which has members of these names.
  template <typename T>
  static void add_to(core::Table<T>& table) {
    table.option("pdf_width", &T::pdf_width, 10.0)
        .range(0.1, 1e6)
        .doc("histograms reach so many standard deviations to both sides");
    table.option("pdf_bins", &T::pdf_bins, 201).range(0, 1e6).doc("number of bins of the histograms; 0: none");
  }

  double center(std::int64_t bin) const {
    return width * ((2.0 * static_cast<double>(bin) + 1.0) / static_cast<double>(count) - 1.0);
  }
  double bin_width() const { return 2.0 * width / static_cast<double>(count); }
};

/// How many numbers lie in each bin; those beyond all bins count in the total.
class DeviationCounts {
 public:
  explicit DeviationCounts(const DeviationBins& bins)
      : bins_(bins), counts_(static_cast<std::size_t>(bins.count) + 1) {}

  /// Of a number over its standard deviation.
  void add(double deviations) {
    const double place = (deviations / bins_.width + 1.0) * 0.5 * static_cast<double>(bins_.count);
    const bool is_inside = place >= 0.0 && place < static_cast<double>(bins_.count);
    ++counts_[static_cast<std::size_t>(is_inside ? static_cast<std::int64_t>(place) : bins_.count)];
  }
  /// The probability density per standard deviation, of the numbers of all ranks. Collective.
  std::vector<double> density(const comm::Communicator& comm) const;

 private:
  DeviationBins bins_;
  std::vector<std::int64_t> counts_;  // the last: beyond
};

}  // namespace sidestream::analysis
