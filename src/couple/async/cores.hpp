#pragma once

#include <vector>

namespace sidestream::couple {

/// Has this thread, and those that it starts from now on, run on these cores of the machine alone. Throws core::Error
/// where one of them is not there, or not for this process.
void run_on(const std::vector<int>& cores);

/// Throws what `run_on` would throw.
void check_cores(const std::vector<int>& cores);

}  // namespace sidestream::couple
