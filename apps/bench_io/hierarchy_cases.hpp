#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cases.hpp"
#include "hierarchy.hpp"

namespace sidestream::bench {

/// The initial read and the dump of each of `sizes` by every selected method, in `folder`, as the contents "AMR64 read"
/// and "AMR64 dump"; before dumps the reference "sequential". Collective.
std::vector<Case> hierarchy_cases(const comm::Communicator& comm, const std::vector<std::string>& sizes,
                                  const std::string& folder, const Selection& selection);

/// The size of that name; nullptr: there is none.
const HierarchySize* hierarchy_size(const std::string& name);

}  // namespace sidestream::bench
