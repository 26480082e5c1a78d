#pragma once

#include <vector>

#include "sims/host/look_at_rims.hpp"

namespace sidestream::sims {

/// Cells, without ghost cells, whose numbers are none (NaN) or infinite. Local.
std::vector<HostFinding> look_at_cells(const HostState& state);

/// Particles whose positions or attributes are no numbers, and ids that are negative or those of several particles, on
/// whatever ranks. Collective; each id goes to a rank that looks at it.
std::vector<HostFinding> look_at_particles(const comm::Communicator& compute, const HostState& state);

}  // namespace sidestream::sims
