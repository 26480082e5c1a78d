#pragma once

#include "analysis/halos/halo_order.hpp"
#include "sidestream/analysis/friends_of_friends.hpp"

namespace sidestream::analysis {

/// What `find_halos` finds, left where it is if it is large, and if asked for the cells and the particles of these
/// halos; particles are those of `measures`.
FoundHalos find_catalogue(const comm::Communicator& comm, const LeafField& field, const mesh::Geometry& geometry,
                          const HaloCriteria& criteria, const HaloMeasures& measures, bool with_members);

/// The same of the field of a tree, without members.
FoundHalos find_catalogue(const comm::Communicator& comm, const MergeTree& tree, const mesh::Geometry& geometry,
                          const HaloCriteria& criteria);

/// What `find_group_halos` finds, in the same way; members are particles.
FoundHalos find_catalogue(const comm::Communicator& comm, const LeafField& field, const mesh::Geometry& geometry,
                          const GroupCriteria& criteria, const HaloMeasures& measures, bool with_members);

}  // namespace sidestream::analysis
