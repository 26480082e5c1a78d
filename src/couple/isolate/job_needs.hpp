#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/config.hpp"

namespace sidestream::couple {

/// What there has to be for jobs of their own, and is not; empty: nothing. Collective on the ranks that compute.
std::string missing_for_jobs(const comm::Communicator& group, const CouplingConfig& config);

/// What of a configuration asks for the first of them. Throws core::Error with `missing` where that is something.
void require_nothing_missing(const std::string& missing, const CouplingConfig& config);

}  // namespace sidestream::couple
