#pragma once

#include <array>
#include <span>
#include <string>

#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// The length of the curl of a velocity whose three components lie on one layout of a box that is periodic along its
/// axes of more than one cell. Derivatives are those of the sum of all waves. Collective.
mesh::Field<double> vorticity_magnitude(const comm::Communicator& comm, const std::array<ScalarView, 3>& velocity,
                                        const mesh::Geometry& geometry);

/// Half of |rotation|^2 - |strain|^2 of the same (Hunt, Wray & Moin 1988): positive where rotation prevails.
mesh::Field<double> q_criterion(const comm::Communicator& comm, const std::array<ScalarView, 3>& velocity,
                                const mesh::Geometry& geometry);

/// Adds what shows vortices to a snapshot with `velocity_x`, `velocity_y`, `velocity_z` on a uniform mesh that is
/// periodic along its axes of more than one cell; nothing to others, and nothing whose name is there already or among
/// `but`: `vorticity_x`, `vorticity_y`, `vorticity_z`, `vorticity_magnitude` and `q_criterion`. Each is computed when
/// somebody first asks for it, by all ranks together: `comm` and `snapshot` stay where they are until then.
void add_vortex_quantities(const comm::Communicator& comm, mesh::Snapshot& snapshot,
                           std::span<const std::string> but = {});

}  // namespace sidestream::analysis
