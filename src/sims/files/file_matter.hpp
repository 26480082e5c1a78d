#pragma once

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::sims {

/// Adds `dark_matter_density`, on all levels, to the state in a file that holds dark matter as particles alone, as a
/// checkpoint does: the clouds of `RefinedParticleMesh`, the same bits as in the run that wrote it. Particles and
/// density are read when somebody asks. Nothing is added where the file has such a density, no species `dark_matter`,
/// no comoving Mpc or an edge that is not periodic. `world` outlives the snapshot.
void add_dark_matter_of_particles(const comm::Communicator& world, mesh::Snapshot& file);

}  // namespace sidestream::sims
