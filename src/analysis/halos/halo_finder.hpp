#pragma once

#include <vector>

#include "analysis/halos/halo_members.hpp"
#include "sidestream/analysis/friends_of_friends.hpp"
#include "sidestream/analysis/halos.hpp"

namespace sidestream::analysis {

struct FoundHalos {
  std::vector<Halo> halos;  ///< on rank 0
  HaloMembers members;      ///< of this rank
};

/// What `find_halos` does, and the cells and the particles of these halos; particles are those of `measures`.
FoundHalos find_halos_and_members(const comm::Communicator& comm, const LeafField& field,
                                  const mesh::Geometry& geometry, const HaloCriteria& criteria,
                                  const HaloMeasures& measures);

/// What `find_group_halos` does, and the particles of these halos.
FoundHalos find_group_halos_and_members(const comm::Communicator& comm, const LeafField& field,
                                        const mesh::Geometry& geometry, const GroupCriteria& criteria,
                                        const HaloMeasures& measures);

}  // namespace sidestream::analysis
