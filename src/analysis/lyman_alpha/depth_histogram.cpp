#include "analysis/lyman_alpha/depth_histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "analysis/lyman_alpha/sightline_rows.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

// Of the 52 bits of a mantissa the first say the bin, the next `place_bits` the place in it, so that the sum of 2^36
// places is a whole number of 64 bits.
constexpr int mantissa_bits = 52, place_bits = 26, bias = 1023;

double flux_of(const std::vector<double>& depth, const std::vector<double>& share, double factor) {
  std::vector<double> flux(depth.size());
  transmitted_flux(depth, factor, flux);
  double mean = 0.0;
  for (std::size_t b = 0; b < flux.size(); ++b) mean += share[b] * flux[b];
  return mean;
}

}  // namespace

void DepthHistogram::add(std::span<const double> depths) {
  constexpr int place_shift = mantissa_bits - bits - place_bits;
  const double low = std::ldexp(1.0, lowest_exponent), high = std::ldexp(1.0, lowest_exponent + octaves);
  const double last = std::nextafter(high, 0.0);
  constexpr auto first_key = static_cast<std::uint64_t>(bias + lowest_exponent) << bits;
  for (const double depth : depths) {
    const auto number = std::bit_cast<std::uint64_t>(std::clamp(depth, low, last));
    const std::uint64_t bin = (number >> (mantissa_bits - bits)) - first_key;
    const std::uint64_t place = (number >> place_shift) & ((std::uint64_t{1} << place_bits) - 1);
    bins_[2 * bin] += 1;
    bins_[2 * bin + 1] += static_cast<std::int64_t>(place);
  }
}

void DepthHistogram::add(const DepthHistogram& other) {
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
}

void DepthHistogram::sum(const comm::Communicator& comm) {
  comm.sum(std::span(bins_));
}

DepthHistogram::Shares DepthHistogram::shares() const {
  std::int64_t pixels = 0;
  for (std::size_t bin = 0; bin < bins_.size(); bin += 2) pixels += bins_[bin];
  Shares shares;
  for (int bin = 0; bin < bins; ++bin) {
    const std::int64_t count = bins_[static_cast<std::size_t>(2 * bin)];
    if (count == 0) continue;
    const double place = static_cast<double>(bins_[static_cast<std::size_t>(2 * bin + 1)]) / static_cast<double>(count);
    const double mantissa = (bin & ((1 << bits) - 1)) + std::ldexp(place + 0.5, -place_bits);
    shares.depth.push_back(std::ldexp(1.0 + std::ldexp(mantissa, -bits), lowest_exponent + (bin >> bits)));
    shares.share.push_back(static_cast<double>(count) / static_cast<double>(pixels));
  }
  return shares;
}

double DepthHistogram::mean_flux(double factor) const {
  const auto [depth, share] = shares();
  return flux_of(depth, share, factor);
}

double DepthHistogram::factor_for(double mean_flux) const {
  const auto [depth, share] = shares();
  if (depth.size() == 1 && depth.front() < std::ldexp(2.0, lowest_exponent)) return 1.0;
  double low = -20.0, high = 20.0;  // logarithms of factors
  const auto flux_at = [&](double logarithm) { return flux_of(depth, share, core::exp(logarithm)); };
  if (!(flux_at(low) > mean_flux && flux_at(high) < mean_flux))
    throw core::Error(fmt::format("no factor of the optical depth gives a mean flux of {}", mean_flux), "mean_flux",
                      "look at the density of the absorbers: there may be none");
  constexpr int halvings = 60;
  for (int n = 0; n < halvings; ++n) {
    const double middle = 0.5 * (low + high);
    (flux_at(middle) > mean_flux ? low : high) = middle;
  }
  return core::exp(0.5 * (low + high));
}

}  // namespace sidestream::analysis
