#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/links/members.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// Two halos or regions, of an earlier moment and of now, that share cells or particles.
struct TimeLink {
  std::int64_t progenitor = 0, descendant = 0;  ///< ids, each of its own moment
  double shared_volume = 0.0;                   ///< of the cells of both [unit of length, cubed]
  double shared_mass = 0.0;                     ///< now in the shared volume: sum of density times volume
  std::int64_t shared_particles = 0;
  /// Whether no other progenitor of the descendant shares more with it, and no other descendant of the progenitor; of
  /// equal ones the one with the smaller id.
  bool is_main_progenitor = false, is_main_descendant = false;

  friend bool operator==(const TimeLink&, const TimeLink&) = default;
};

/// What counts as sharing more: more particles, and of equal ones more mass; or more volume.
enum class SharedMost { matter, volume };

/// What is linked, in the words of its tables.
struct LinkedKind {
  std::string noun;         ///< "halo", of the column `member_run_halo`
  std::string volume_unit;  ///< of `shared_volume`
  SharedMost by = SharedMost::volume;
  std::string mass_unit{};  ///< of `shared_mass`; regions have neither mass nor particles
};

/// All links between the halos of an earlier moment and those of now, by ascending descendant and then progenitor, on
/// rank 0 (empty elsewhere). `earlier` may be dealt to the ranks in any way and be of another refinement of the same
/// root grid; cells of `now` are on the ranks that own them on the levels of `density`, which is that of now.
/// `geometry` is that of level 0. The same bits for any number of ranks and any layout. Collective. Cells of the
/// earlier moment go to the owners of the same volume now, particles of both to a rank by their id, where neighbours in
/// id meet; sums of a pair of halos meet on one rank. Throws core::Error on all ranks where two particles of one moment
/// have the same id.
std::vector<TimeLink> link_members(const comm::Communicator& comm, const Members& earlier, const Members& now,
                                   const LeafField& density, const mesh::Geometry& geometry,
                                   SharedMost by = SharedMost::matter);
/// The same for halos that are sets of particles.
std::vector<TimeLink> link_members(const comm::Communicator& comm, const std::vector<MemberParticle>& earlier,
                                   const std::vector<MemberParticle>& now);

/// For an analysis that links: adds to its result the members of now, and as columns over `link` those that
/// `link_members` finds to the members that `earlier`, its result of an earlier step, holds (none if that has no
/// members). Attributes: `member_step`, and `progenitor_step` where there is an earlier one. Returns the links, on rank
/// 0. Collective. Throws core::Error on all ranks for members that cannot be, and for those on another root grid.
std::vector<TimeLink> add_members_and_links(const comm::Communicator& comm, const LinkedKind& kind, const Members& now,
                                            const LeafField& density, const mesh::Snapshot& snapshot,
                                            const mesh::Result& earlier, mesh::Result& result);
/// The same for halos that are sets of particles.
void add_members_and_links(const comm::Communicator& comm, const std::vector<MemberParticle>& now,
                           const mesh::Snapshot& snapshot, const mesh::Result& earlier, mesh::Result& result);

}  // namespace sidestream::analysis
