#pragma once

#include <string>
#include <vector>

#include "analysis/halos/halo_order.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::analysis {

/// Which columns a table of halos has beyond those of the cells.
struct HaloColumns {
  std::string density_unit, length_unit, velocity_unit;
  std::vector<std::string> spheres;  ///< names of `Halo::spheres`: "200m", ...
  bool has_particles = false, has_motion = false, has_spin = false;
  bool is_of_particles = false;  ///< groups of particles instead of regions of a field
};

/// The halos as columns over `halo`.
mesh::Result halo_table(const std::vector<Halo>& halos, const HaloColumns& columns);

/// The catalogue as columns over `halo`, with its summary: on rank 0, or, where it is spread, with rows on all ranks.
/// Collective.
mesh::Result spread_halo_table(const comm::Communicator& comm, const FoundHalos& found, const HaloColumns& columns);

}  // namespace sidestream::analysis
