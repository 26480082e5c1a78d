#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/analysis/halos.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::analysis {

/// Friends-of-friends groups (Davis, Efstathiou, Frenk & White 1985): two particles are friends if they are at most
/// `linking_length` apart, and a group is everything that friends of friends lead to. A particle without friends is a
/// group of its own. The name of a group is the smallest id in it.
///
/// Friends are those with dx*dx + dy*dy + dz*dz <= linking_length * linking_length in double precision, where dx is
/// |x1 - x2|, on a periodic axis of side L the smaller one of |x1 - x2| and L - |x1 - x2|. That depends on nothing but
/// the two positions, so groups are the same for any number of ranks, any blocks and any order of the particles.
///
/// Returns the group of each particle of this rank. `levels` are the leaves of each level, coarsest first, and
/// `geometry` that of level 0. Particles may be on any rank, but those that lie in a block of their own rank need not
/// travel. On periodic axes positions are first wrapped into the domain. Lengths are in the unit of the geometry; all
/// ranks give the same `linking_length`.
/// Collective. Cost: a sort of the particles and a look at the cells around each; particles near the faces of blocks go
/// to the ranks whose blocks are within the linking length; groups are joined in O(log ranks) rounds of messages
/// between ranks that hold parts of one group. Throws core::Error on all ranks for a linking length that is not
/// positive and finite, for a particle that no block holds, and for two particles of one id.
std::vector<std::int64_t> friends_of_friends(const comm::Communicator& comm, std::span<const mesh::Layout> levels,
                                             const mesh::Geometry& geometry, const mesh::Particles& particles,
                                             double linking_length);

/// The same for points of one process, without a mesh: `positions` along x, y, z. On a periodic axis they are first
/// brought into [0, length); on others they may be any finite numbers and `length` has no meaning. Throws for two of
/// one id.
std::vector<std::int64_t> friends_of_friends(std::span<const std::int64_t> ids,
                                             const std::array<std::span<const double>, 3>& positions,
                                             const std::array<double, 3>& length, const mesh::Periodicity& periodic,
                                             double linking_length);

/// Which groups of particles count as halos.
struct GroupCriteria {
  double linking_length = 0.0;  ///< in the unit of the geometry
  std::int64_t min_particles = 20;
};

/// The friends-of-friends groups of `measures.particles` as halos, by descending mass and then ascending id, on rank 0
/// (empty elsewhere), with what `find_halos` finds for the components of a field. Here
///   - `id` is the name of the group, its smallest particle id;
///   - `particles`, `mass` (which is `particle_mass`), `center` and `axes` are those of its particles, `velocity` and
///     all that follows from it too; `measures.moving_density` and `measures.velocity` are not looked at;
///   - `cells`, `volume`, `centroid` and `spans_box` are those of the leaf cells that hold its particles, `peak` is the
///     densest one in `field`, the centre of which is also that of the spheres. Two groups may have the same peak.
/// The same bits for any number of ranks, any layout of the same cells, and any order of the particles. Collective.
/// Throws core::Error on all ranks as `friends_of_friends` does, and for masses and velocities that are not finite.
std::vector<Halo> find_group_halos(const comm::Communicator& comm, const LeafField& field,
                                   const mesh::Geometry& geometry, const GroupCriteria& criteria,
                                   const HaloMeasures& measures);

/// The mass of a group of so many particles, corrected for that groups of few particles come out too large: the mass
/// times 1 - n^-0.6 (Warren et al. 2006, ApJ 646, 881).
double warren_mass(double mass, std::int64_t particles);

}  // namespace sidestream::analysis
