#pragma once

#include "sims/cosmology/universe.hpp"

namespace sidestream::sims {

/// The start of a universe that another program made (`[cosmology] initial_conditions`), on the root level alone. Each
/// rank reads its share of the file; the particles then go to the owners of their cells. Gas that the file does not
/// have is split from the particles by the cosmic fraction (docs/guides/initial_conditions.md). Bitwise the same for
/// any number of ranks. Collective. Throws core::Error for what does not fit the configuration.
UniverseState universe_from_file(const comm::Communicator& comm, const CosmologyConfig& config,
                                 const solvers::Background& background, double a);

}  // namespace sidestream::sims
