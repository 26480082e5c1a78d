#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/amr/criteria.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::amr {

/// How a forest may change.
struct AdaptationLimits {
  int lowest_level = 0, highest_level = 0;
  std::int32_t buffer = 2;  ///< blocks within so many cells of a tagged cell are to be as fine as its own will be
};

/// The forest that `tags` ask for: `tags[level][b]` of each local block, as fields count them (those of refined blocks
/// are not looked at). The same on all ranks; collective. Ranks tell each other of the blocks that are to change, in a
/// dozen bytes each.
mesh::Forest adapted(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy,
                     const std::vector<std::vector<Tags>>& tags, const AdaptationLimits& limits);

/// Relative cost of the steps of each block of each level, for `mesh::Hierarchy`: one, or next to nothing for refined
/// blocks that no leaf touches, which are not computed.
std::vector<std::vector<double>> block_costs(const mesh::Forest& forest);

}  // namespace sidestream::amr
