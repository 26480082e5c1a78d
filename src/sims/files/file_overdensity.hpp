#pragma once

#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

/// Adds `gas_overdensity` and `dark_matter_overdensity` to the state in a file of a universe that has the density of
/// the kind: over the mean in the universe that the file tells, as in a run, or, where it does not tell `omega_b`, over
/// the mean in its box, which all ranks find together when somebody first asks. Nothing whose name is among `but`. Says
/// in `sources` from which. `world` and `file` stay where they are.
void add_overdensities(const comm::Communicator& world, const std::vector<std::string>& but, mesh::Snapshot& file,
                       Sources& sources);

}  // namespace sidestream::sims
