#pragma once

#include <span>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// Adds what shows vortices to a snapshot with `velocity_x`, `velocity_y`, `velocity_z` on a uniform mesh that is
/// periodic along its axes of more than one cell; nothing to others, and nothing whose name is there already or among
/// `but`: `vorticity_x`, `vorticity_y`, `vorticity_z` (the curl), `vorticity_magnitude`, and `q_criterion`, half of
/// |rotation|^2 - |strain|^2 (Hunt, Wray & Moin 1988), positive where rotation prevails. Derivatives are those of the
/// sum of all waves. Each is computed when somebody first asks for it, by all ranks together: `comm` and `snapshot`
/// stay where they are until then.
void add_vortex_quantities(const comm::Communicator& comm, mesh::Snapshot& snapshot,
                           std::span<const std::string> but = {});

}  // namespace sidestream::analysis
