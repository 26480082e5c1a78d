#pragma once

#include "cosmology_config.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/solvers/background.hpp"

namespace sidestream::sims {

/// What a file of initial conditions holds, in the units of `io::InitialFile`, with masses in Msun.
struct InitialMatter {
  mesh::Particles particles, gas;
  bool has_gas = false;  ///< else gas, if the simulation has any, is part of the particles
};

/// The particles that a run begins with: the header of the file tells. One a cell where it cannot, as in a restart
/// after the file is gone; `check_initial_file` says what is wrong with it. Local.
std::int64_t initial_particles(const CosmologyConfig& config);

/// Throws core::Error when the file of the initial conditions cannot be read, or says another universe than the
/// configuration: all differences at once. Reads headers alone or, with `reads_all`, everything, in pieces: what
/// `read_initial_matter` would refuse is refused (particles with one id, among up to 2^24), and so are cells without
/// gas; that takes a bit a cell and a second reading. Local.
void check_initial_file(const CosmologyConfig& config, bool reads_all);

/// The part of the masses that is gas: of parcels where the file `has_gas`, else of the particles it is split from.
double gas_share(const CosmologyConfig& config, bool has_gas);

/// Throws core::Error where cells are so far from all parcels of gas that they get none.
void require_gas_everywhere(const CosmologyConfig& config, std::int64_t empty_cells);

/// This rank's share of the file, complete and checked. Collective. Throws core::Error on all ranks for what cannot be
/// or does not fit the configuration.
InitialMatter read_initial_matter(const comm::Communicator& comm, const CosmologyConfig& config,
                                  const solvers::Background& background, double a);

}  // namespace sidestream::sims
