#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/turbulence/moments.hpp"
#include "sidestream/analysis/leaf_field.hpp"

namespace sidestream::analysis {

/// Between what increments u(x + r) - u(x) are taken, and what is made of them.
struct IncrementOptions {
  std::vector<std::int32_t> separations;  ///< r in cells along the axis, each below its number of cells
  int highest_order = 4;                  ///< at least 2
  DeviationBins bins;                     ///< without any no histograms are made
};

/// Increments of a velocity along one axis of a periodic box: of the component along it, and of the other two together.
struct Increments {
  std::vector<std::vector<double>> longitudinal, transverse;  ///< [separation][p - 1]: mean of the power p
};

/// Histograms of increments over their standard deviations, of all axes that were counted: [separation][bin].
struct IncrementDensities {
  std::vector<std::vector<double>> longitudinal, transverse;
};

/// Takes increments along one axis after the other. Components are brought to whole lines, one at a time: 8 bytes a
/// cell beside their messages.
class IncrementCounter {
 public:
  IncrementCounter(const comm::Communicator& comm, const std::array<ScalarView, 3>& velocity, IncrementOptions options);

  /// All means are exact sums over all cells of the box, on every rank. Collective.
  Increments along(int axis);
  /// Of the axes so far. Collective.
  IncrementDensities densities() const;

 private:
  using Means = std::vector<std::vector<double>>;
  Means measure(const mesh::Field<double>& lines, int axis, std::vector<DeviationCounts>& counts) const;

  const comm::Communicator& comm_;
  std::array<ScalarView, 3> velocity_;
  IncrementOptions options_;
  std::vector<DeviationCounts> longitudinal_, transverse_;  // for each separation
};

}  // namespace sidestream::analysis
