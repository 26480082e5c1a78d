#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::analysis {

/// What the flux along one axis is like; on rank 0 but for the mean.
struct FluxStatistics {
  double mean = 0.0;                 ///< of all pixels, exactly rounded; on all ranks
  std::vector<std::int64_t> pixels;  ///< in bins of equal width from 0 to 1; the last one holds 1
  /// For m = 1 ... pixels / 2 waves over the box the mean over all lines of |delta_m|^2, where delta_m is the transform
  /// of flux / mean - 1 over the number of pixels.
  std::vector<double> power;
};

/// Of the flux exp(-factor * depth), where `depth` (on a layout of whole lines along `axis`) is that of the whole box.
/// Each line is transformed by itself; the mean is that of all. Collective. The flux takes the place of the depths.
FluxStatistics flux_statistics(const comm::Communicator& comm, mesh::Field<double>& depth, int axis, double factor,
                               std::int64_t bins);

}  // namespace sidestream::analysis
