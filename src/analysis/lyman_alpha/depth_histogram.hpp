#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// How many pixels have which optical depth, in bins of 1/512 of an octave or less, and the mean in each bin, as whole
/// numbers: the same whatever the order. What it says of the mean flux is right to 3e-7, and the factor that gives a
/// wanted mean flux needs no other look at the pixels.
class DepthHistogram {
 public:
  DepthHistogram() : bins_(static_cast<std::size_t>(2 * bins)) {}

  /// Adds pixels, of finite depths that are not negative.
  void add(std::span<const double> depths);
  void add(const DepthHistogram& other);
  /// Adds up what all ranks have. Collective.
  void sum(const comm::Communicator& comm);

  /// The mean of exp(-factor * depth).
  double mean_flux(double factor) const;
  /// The factor for which that is `mean_flux`; 1 where nothing absorbs. Throws core::Error where there is none.
  double factor_for(double mean_flux) const;

 private:
  static constexpr int octaves = 60, lowest_exponent = -36, bits = 9, bins = octaves << bits;

  // The depths of the bins that hold any, and their shares of all pixels.
  struct Shares {
    std::vector<double> depth, share;
  };
  Shares shares() const;

  std::vector<std::int64_t> bins_;  // of each bin the pixels, and the sum of their places in it
};

}  // namespace sidestream::analysis
