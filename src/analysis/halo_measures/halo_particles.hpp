#pragma once

#include <vector>

#include "analysis/halo_measures/halo_frame.hpp"
#include "analysis/halo_measures/halo_sums.hpp"
#include "analysis/halos/halo_cells.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// A particle in a halo that this rank has cells of.
struct HaloParticle {
  std::int64_t id = 0;
  std::int32_t halo = 0;  ///< as `HaloRuns` numbers them
  Matter matter;          ///< mass in Msun, offset from the lower corner of the peak in the unit of the geometry
};

/// Whether any rank has particles with velocities. Collective.
bool have_velocities(const comm::Communicator& comm, const mesh::Particles& particles);

/// The particles in the cells that this rank has of halos, from whichever rank. Collective. Throws core::Error on all
/// ranks for positions and for masses and velocities in halos that are not finite.
std::vector<HaloParticle> particles_in_halos(const comm::Communicator& comm, const HaloRuns& runs,
                                             const HaloFrame& frame, const HaloMeasures& measures);

}  // namespace sidestream::analysis
