#pragma once

#include "sidestream/core/registry.hpp"

namespace sidestream::sims {

/// Every registry as text, by its kind: what `sidestream-run --list` prints and the reference has to mention.
const core::Registry<core::Listing>& listings();

}  // namespace sidestream::sims
