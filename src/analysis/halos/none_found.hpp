#pragma once

#include <string>

#include "sidestream/analysis/halos.hpp"
#include "sidestream/analysis/leaf_field.hpp"

namespace sidestream::analysis {

/// Why no region of `density`, the field `name` of mean `average`, is a halo by `criteria`: how high the field reaches,
/// and thresholds, as keys of the task, that find something where it stands out. Collective; a pass over the cells.
std::string why_none(const comm::Communicator& comm, const LeafField& density, const std::string& name, double average,
                     const HaloCriteria& criteria);

}  // namespace sidestream::analysis
