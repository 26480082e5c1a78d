#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/links/tracks.hpp"
#include "analysis/regions/region_sums.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::analysis {

/// A connected region: what it has in common with a halo, and where it lies.
struct Region {
  Halo shape;                     ///< its `peak` is the largest magnitude in it
  double extreme = 0.0;           ///< the value at the peak
  mesh::Int3 low, high;           ///< the cells [low, high) of the finest level that hold it; `low` lies in the domain
  std::int64_t position_own = 0;  ///< among those of the rank that has its peak
};

/// A quantity that is measured in regions.
struct MeasuredQuantity {
  std::string name, unit;
};

/// All regions, in the order of their rows.
struct RegionTable {
  std::vector<Region> regions;
  std::vector<RegionSum> sums;  ///< of the first quantity in that order, then of the second
};

/// What the columns are about.
struct RegionColumns {
  std::string extreme, extreme_unit, length_unit;
  std::vector<MeasuredQuantity> measured;
  double root_cell_volume = 1.0;  ///< of a cell of level 0
};

/// By descending volume, and then ascending id: on rank 0, empty elsewhere. `sums` are those of each quantity over
/// `mine`. Collective.
RegionTable gathered(const comm::Communicator& comm, const std::vector<Region>& mine,
                     const std::vector<RegionSum>& sums, std::size_t quantities);

/// Adds the columns over `region`.
void add_columns(const RegionTable& table, const RegionColumns& columns, mesh::Result& result);

/// Adds the columns of the tracks of the regions, over `region`, and of those that ended, over `ended`; and how many
/// began, ended, split and merged as attributes.
void add_columns(const Tracks& tracks, mesh::Result& result);

/// The ids and tracks that a result holds; none where it has no such columns.
Tracked tracked_in(const mesh::Result& result);
/// The track that begins next after it.
std::int64_t next_track(const mesh::Result& result);

}  // namespace sidestream::analysis
