#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "protocol.hpp"
#include "route.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// The particles of a publish on the legs of its route: each goes to the owner of the leaf that holds it. They are
/// copied once into one buffer of the sender, [leg][number of a particle][particle]. A leg first tells their count, so
/// the receiver knows what to expect. Move-only; it stays until its requests are done.
class ParticleParcel {
 public:
  /// Nothing yet, to be received.
  ParticleParcel(const Route& route, const ParticleLabel& label);
  /// The particles of `snapshot`, none where the pointer is null. Throws core::Error when one lies in no leaf of
  /// `rank`. Local.
  ParticleParcel(const Route& route, const ParticleLabel& label, const mesh::Snapshot& snapshot, int rank);

  /// The counts and the particles; the receiver asks for the particles once it has the counts.
  std::vector<MPI_Request> send(const comm::Communicator& joint) const;
  std::vector<MPI_Request> receive_counts(const comm::Communicator& joint);
  std::vector<MPI_Request> receive(const comm::Communicator& joint);

  /// As they came; their order is not specified.
  mesh::Particles unpacked() const;

 private:
  void pack(const mesh::Particles& particles, const std::vector<std::int32_t>& legs);
  void allocate();
  template <typename F>
  void for_each_message(F post) const;

  ParticleLabel label_;
  std::vector<int> peers_;
  std::vector<std::int64_t> counts_;  // of each leg
  std::unique_ptr<std::uint64_t[]> words_;
};

/// What all ranks of `group` tell of the particles of their snapshots; nothing where no rank has any. Collective.
/// Throws core::Error on all ranks when they differ.
std::optional<ParticleLabel> label_of(const comm::Communicator& group, const mesh::Snapshot& snapshot);

}  // namespace sidestream::couple
