#pragma once

#include <cstdint>
#include <span>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// Throws core::Error where two particles have one id: groups are named by ids, and two would have one name. Cost: a
/// bit an id where ids are numbers up to some times as many as there are, else a sort.
void require_distinct(std::span<const std::int64_t> ids);

/// The same for the particles of all ranks. Collective; throws on all ranks. Each id goes to one rank.
void require_distinct(const comm::Communicator& comm, std::span<const std::int64_t> ids);

}  // namespace sidestream::analysis
