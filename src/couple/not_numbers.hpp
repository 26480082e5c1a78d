#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::couple {

/// Where a result holds NaN that does not stand for a missing value, in words, on all ranks of `group`; empty: nowhere.
/// Collective on it.
std::string not_numbers(const comm::Communicator& group, const mesh::Result& result);

}  // namespace sidestream::couple
