#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "couple/publish/block_messages.hpp"
#include "couple/publish/cargo.hpp"
#include "couple/publish/protocol.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// The particles of a publish on the legs of its route: each goes to the owner of the leaf that holds it. A message has
/// the number of its particles of each species, then species by species [number of a particle][particle].
class ParticleLegs {
 public:
  /// Of no particles.
  ParticleLegs() = default;
  /// Of those of `snapshot` that have a label. Throws core::Error when one lies in no leaf of `rank`. Local.
  ParticleLegs(const Route& route, const mesh::Snapshot& snapshot, const std::vector<ParticleLabel>& labels, int rank);

  /// The words of each leg; empty where no species travels.
  const std::vector<std::int64_t>& words() const { return words_; }

  void pack(const Cargo& cargo) const;

 private:
  struct OfSpecies {
    const mesh::Particles* particles = nullptr;  // null where there are none
    std::vector<std::int32_t> legs;              // of each particle
    std::vector<std::int64_t> counts;            // of each leg
  };
  std::vector<OfSpecies> species_;
  std::vector<std::int64_t> words_;  // of each leg
};

/// Adds the species of all messages to `into`, their particles as they came: the order is not specified.
void add_particles(const std::vector<ParticleLabel>& labels, const Cargo& cargo, mesh::Snapshot& into);

/// What all ranks of `group` tell of the particles of `species` in their snapshots; nothing where no rank has any.
/// Collective. Throws core::Error on all ranks when they differ.
std::optional<ParticleLabel> label_of(const comm::Communicator& group, const mesh::Snapshot& snapshot,
                                      const std::string& species);

}  // namespace sidestream::couple
