#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// What a file tells of particles.
struct FileParticles {
  std::vector<std::shared_ptr<const mesh::Particles>> levels;  ///< a set for each level of a file; none
  std::vector<mesh::ParticleNumber> numbers;
};

/// The particles that `choice` takes of `snapshot`, on the blocks `levels`: a plot file has the numbers that the
/// snapshot tells of them, others all their attributes. Collective. Throws core::Error on all ranks when they tell of
/// different attributes, or there is no such number.
FileParticles particles_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const FileChoice& choice,
                           const std::vector<mesh::Layout>& levels);

/// Those of `particles` that are in a sample of `share`, with the attributes of `numbers` alone.
mesh::Particles sample_of(const mesh::Particles& particles, const std::vector<mesh::ParticleNumber>& numbers,
                          double share);

}  // namespace sidestream::io
