#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/components/component_names.hpp"
#include "analysis/fields/leaf_owners.hpp"
#include "analysis/friends_of_friends/friends.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// Friends-of-friends groups: each rank numbers the parts of groups that it has.
struct ParticleGroups {
  std::vector<std::int32_t> part;  ///< of each point
  std::vector<Name> names;         ///< of each part: the smallest id in the group, and the part that has it
};

/// Throw core::Error for a length that is not positive and finite, and for more points than a rank can number.
void check_linking_length(double linking_length);
void check_count(std::size_t points);

/// The groups among points of one process. Throws core::Error for two points of one id.
ParticleGroups group_points(const Extent& extent, std::span<const Point> points, std::span<const std::int64_t> ids,
                            double linking_length);

/// The same for points of all ranks, each in a block of its rank. Collective; messages pass only between ranks whose
/// blocks are within the linking length of each other, and between those that hold parts of one group.
ParticleGroups group_points(const comm::Communicator& comm, const LeafOwners& owners, std::span<const Point> points,
                            std::span<const std::int64_t> ids, double linking_length);

}  // namespace sidestream::analysis
