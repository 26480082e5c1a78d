#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couple/publish/block_messages.hpp"
#include "couple/publish/cargo.hpp"
#include "couple/publish/protocol.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// The particles of a publish on the legs of its route: each goes to the owner of the leaf that holds it.
class ParticleLegs {
 public:
  /// Of no particles.
  explicit ParticleLegs(const Route& route) : counts_(route.peers().size(), 0) {}
  /// Of the particles of `snapshot`, none where the pointer is null. Throws core::Error when one lies in no leaf of
  /// `rank`. Local.
  ParticleLegs(const Route& route, const mesh::Snapshot& snapshot, int rank);

  /// The particles of each leg.
  const std::vector<std::int64_t>& counts() const { return counts_; }

  /// Copies `particles` into `cargo`, a message as [number of a particle][particle].
  void pack(const mesh::Particles& particles, const Cargo& cargo) const;

 private:
  std::vector<std::int32_t> legs_;    // of each particle
  std::vector<std::int64_t> counts_;  // of each leg
};

/// The particles of all messages, as they came; their order is not specified.
mesh::Particles unpacked_particles(const ParticleLabel& label, const Cargo& cargo);

/// What all ranks of `group` tell of the particles of their snapshots; nothing where no rank has any. Collective.
/// Throws core::Error on all ranks when they differ.
std::optional<ParticleLabel> label_of(const comm::Communicator& group, const mesh::Snapshot& snapshot);

}  // namespace sidestream::couple
