#pragma once

#include <string>
#include <vector>

#include "cases.hpp"
#include "workload.hpp"

namespace sidestream::bench {

/// What is read of a file of all variables and particles: all of it, a field, the cells that a plane in the middle
/// cuts (z is the axis that it stands on), an eighth of the domain around its centre, or the particles.
inline const std::vector<std::string> readings{"everything", "field", "slice", "region", "particles"};

/// Cases of reading from every format of `selection` that can hold what is read, with a cold cache (no byte of the file
/// is in memory, as far as the file system lets them go; where there is such a thing) and a warm one (all are). The
/// references with the format
/// "plain" read as many bytes from a file that has nothing else, each rank its share in large pieces.
std::vector<Case> reading_cases(const comm::Communicator& comm, const Workload& workload, const std::string& folder,
                                const Selection& selection, bool has_cold_cache);

}  // namespace sidestream::bench
