#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "analysis/halo_measures/halo_frame.hpp"
#include "analysis/halos/halo_cells.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// What a quantity is in a region.
struct RegionSum {
  double total = 0.0;  ///< sum of its value times volume, in cells of level 0; correctly rounded
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();

  friend bool operator==(const RegionSum&, const RegionSum&) = default;
};

/// The sums of each quantity over the regions whose peaks this rank owns: those of the first quantity in the order of
/// `own`, then those of the second. `own` are the cells of these peaks, ascending. The same bits for any number of
/// ranks and any layout. Collective; messages pass only between ranks that hold parts of one region.
std::vector<RegionSum> region_sums(const comm::Communicator& comm, const HaloRuns& runs, const HaloFrame& frame,
                                   std::span<const LeafField> quantities, std::span<const std::int64_t> own);

}  // namespace sidestream::analysis
