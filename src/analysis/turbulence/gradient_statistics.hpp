#pragma once

#include <array>
#include <vector>

#include "analysis/turbulence/flow.hpp"
#include "analysis/turbulence/moments.hpp"

namespace sidestream::analysis {

/// Moments and histograms of velocity gradients in all cells, on every rank.
struct GradientStatistics {
  using Tensor = std::array<double, 9>;  ///< of d u_i / d x_j at 3 i + j
  Tensor variance{}, skewness{}, flatness{};
  /// Probability densities of numbers over their standard deviation, of the axes and components together.
  std::vector<double> longitudinal_pdf, transverse_pdf, vorticity_pdf;
};

/// Collective. One gradient is in memory at a time. Without bins no histograms are made. Gradients whose mean square is
/// at most `least` (their rounding) are taken to vanish: they have no skewness and flatness and are not counted.
GradientStatistics gradient_statistics(const comm::Communicator& comm, const Flow& flow, const DeviationBins& bins,
                                       double least);

}  // namespace sidestream::analysis
