#pragma once

#include <span>
#include <string>
#include <vector>

#include "couple/publish/announcement.hpp"
#include "couple/publish/cargo.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// Adds the species `wanted` of those with `labels` to a snapshot, each particle on the rank that owns the finest of
/// `levels` that holds it; those in no box are left out. `messages`: as ranks of a run give them, any number here.
/// Collective. Throws core::Error on all ranks for messages that are damaged.
void add_particles_of_owners(const comm::Communicator& comm, const std::vector<ParticleLabel>& labels,
                             const std::vector<std::string>& wanted, const std::vector<std::vector<Word>>& messages,
                             mesh::Snapshot& into);

}  // namespace sidestream::couple
