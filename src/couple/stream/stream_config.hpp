#pragma once

#include "sidestream/core/config.hpp"
#include "sidestream/couple/config.hpp"

namespace sidestream::couple {

/// Reads and checks the table `[stream]`; stores it with defaults in `resolved`, unless that is null. Whoever can reach
/// the run from another machine is asked who he is, unless the user says that he need not be. Throws core::Error.
StreamConfig read_stream(const core::Node& node, core::Node* resolved);

}  // namespace sidestream::couple
