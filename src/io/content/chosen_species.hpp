#pragma once

#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// The species that `choice` takes of `snapshot`, stored on the blocks `levels`: a plot file has the numbers that the
/// snapshot tells of them, others all their attributes. One of which no rank has particles is left out. Collective.
/// Throws core::Error on all ranks when they tell of different species or attributes, or there is no such species or
/// number.
std::vector<mesh::Species> chosen_species(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                          const FileChoice& choice, const std::vector<mesh::Layout>& levels);

/// Those of `particles` that are in a sample of `share`, with the attributes of `numbers` alone.
mesh::Particles sample_of(const mesh::Particles& particles, const std::vector<mesh::ParticleNumber>& numbers,
                          double share);

}  // namespace sidestream::io
