#pragma once

#include <string>
#include <vector>

#include "sidestream/analysis/halos.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::analysis {

/// Which columns a table of halos has beyond those of the cells.
struct HaloColumns {
  std::string density_unit, velocity_unit;
  std::vector<std::string> spheres;  ///< names of `Halo::spheres`: "200m", ...
  bool has_particles = false, has_motion = false, has_spin = false;
  bool is_of_particles = false;  ///< groups of particles instead of regions of a field
};

/// The halos as columns over `halo`.
mesh::Result halo_table(const std::vector<Halo>& halos, const HaloColumns& columns);

}  // namespace sidestream::analysis
