#pragma once

#include "sims/cosmology/universe.hpp"

namespace sidestream::sims {

/// The start of a universe at the scale factor `a`. Where regions are refined from the beginning (`[refine.NAME]` with
/// criterion = "region"), particles and gas there have the resolution of their level, with modes down to its cells, and
/// modes in common with the coarser levels; the particles then have the attribute `solvers::mass_fraction_name`. Each
/// level is made on the whole box, one after the other, which takes 48 bytes a cell of the finest. Collective.
UniverseState initial_universe(const comm::Communicator& comm, const CosmologyConfig& config,
                               const solvers::Background& background, double a);

}  // namespace sidestream::sims
