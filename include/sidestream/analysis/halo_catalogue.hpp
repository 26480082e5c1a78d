#pragma once

#include <cstdint>
#include <string>

#include "sidestream/analysis/density.hpp"
#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::analysis {

/// The field of a merge tree: what it takes to turn cells into places, masses and multiples of the mean.
struct TreeField {
  std::string name = "field", unit = "1";
  double mean = 0.0;        ///< over the volume
  mesh::Geometry geometry;  ///< of level 0
  std::string length_unit{};
};

/// Adds `field` to the attributes of what `MergeTree::to_result` gave, as `tree_field` reads them. Local.
void describe(const TreeField& field, mesh::Result& tree);

/// The field of a stored tree. Collective. Throws core::Error on all ranks when its attributes are missing.
TreeField tree_field(const comm::Communicator& comm, const mesh::Result& tree);

/// What is asked of a tree.
struct HaloQuery {
  Threshold t_boundary, t_halo;
  std::int64_t min_cells = 1;
};

/// The halos of a tree as the analysis `halos` gives them (on rank 0, spread if many); of sets below a threshold its
/// voids. The field is not needed. Collective. Throws core::Error on all ranks for thresholds beyond the cut-off of the
/// tree, and where t_halo is lower than t_boundary.
mesh::Result halo_catalogue(const comm::Communicator& comm, const MergeTree& tree, const TreeField& field,
                            const HaloQuery& query);

}  // namespace sidestream::analysis
