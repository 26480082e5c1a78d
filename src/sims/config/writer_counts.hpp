#pragma once

#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

/// A warning for each output that asks for more writers or files than there are ranks to write them, with what is used
/// instead: `compute` ranks write, or `sidecars`.
std::vector<core::Error> more_than_ranks(const RunConfig& config, int compute, int sidecars);

}  // namespace sidestream::sims
