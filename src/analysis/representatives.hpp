#pragma once

#include <vector>

#include "analysis/tree_part.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// For each maximum of `part`, if it reaches the height `level`, the highest maximum of the component of the cells at
/// or above `level` that it lies in; else no peak. Collective; by pointer jumping, so that the number of rounds grows
/// with the logarithm of the ranks that a component spans.
std::vector<Peak> representatives(const comm::Communicator& comm, const TreePart& part, double level);

/// Lets each branch end in the highest maximum of the branches that it meets, the one that goes on (elder rule), where
/// that was any of them before. Collective.
void name_elders(const comm::Communicator& comm, TreePart& part);

}  // namespace sidestream::analysis
