#pragma once

#include <cstdint>
#include <vector>

#include "analysis/halos/halo_members.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// Two halos, of an earlier moment and of now, that share cells or particles.
struct HaloLink {
  std::int64_t progenitor = 0, descendant = 0;  ///< ids, each of its own moment
  double shared_volume = 0.0;                   ///< of the cells of both [unit of length, cubed]
  double shared_mass = 0.0;                     ///< now in the shared volume: sum of density times volume
  std::int64_t shared_particles = 0;
  /// Whether no other progenitor of the descendant shares more with it, and no other descendant of the progenitor: more
  /// particles; of equal ones more mass; of equal ones the halo with the smaller id.
  bool is_main_progenitor = false, is_main_descendant = false;

  friend bool operator==(const HaloLink&, const HaloLink&) = default;
};

/// All links between the halos of an earlier moment and those of now, by ascending descendant and then progenitor, on
/// rank 0 (empty elsewhere). `earlier` may be dealt to the ranks in any way and be of another refinement of the same
/// root grid; cells of `now` are on the ranks that own them on the levels of `density`, which is that of now.
/// `geometry` is that of level 0. The same bits for any number of ranks and any layout. Collective. Cells of the
/// earlier moment go to the owners of the same volume now, particles of both to a rank by their id, where neighbours in
/// id meet; sums of a pair of halos meet on one rank. Throws core::Error on all ranks where two particles of one moment
/// have the same id.
std::vector<HaloLink> link_halos(const comm::Communicator& comm, const HaloMembers& earlier, const HaloMembers& now,
                                 const LeafField& density, const mesh::Geometry& geometry);
/// The same for halos that are sets of particles.
std::vector<HaloLink> link_halos(const comm::Communicator& comm, const std::vector<MemberParticle>& earlier,
                                 const std::vector<MemberParticle>& now);

/// For an analysis that links: adds to its result the members of the halos of now, and as columns over `link` those
/// that `link_halos` finds to the members that `earlier`, its result of an earlier step, holds (none if that has no
/// members). Attributes: `member_step`, and `progenitor_step` where there is an earlier one. Collective. Throws
/// core::Error on all ranks for members that cannot be, and for those on another root grid.
void add_members_and_links(const comm::Communicator& comm, const HaloMembers& now, const LeafField& density,
                           const mesh::Snapshot& snapshot, const mesh::Result& earlier, mesh::Result& result);
/// The same for halos that are sets of particles.
void add_members_and_links(const comm::Communicator& comm, const std::vector<MemberParticle>& now,
                           const mesh::Snapshot& snapshot, const mesh::Result& earlier, mesh::Result& result);

}  // namespace sidestream::analysis
