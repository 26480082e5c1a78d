#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sidestream/analysis/halos.hpp"
#include "sidestream/analysis/leaf_field.hpp"

namespace sidestream::analysis {

/// What thresholds of a field are measured by.
struct FieldScale {
  double mean = 0.0;
  std::optional<double> deviation;  ///< where a threshold is of it
};

/// Why no region of `density`, the field `name`, is a halo by `criteria`: how high the field reaches, and thresholds,
/// as keys of the task, that find something where it stands out. Collective; a pass over the cells.
std::string why_none(const comm::Communicator& comm, const LeafField& density, const std::string& name,
                     const FieldScale& scale, const HaloCriteria& criteria);

/// The same of groups of particles linked within `linking_length` mean separations.
std::string why_no_groups(double linking_length, std::int64_t largest, std::int64_t min_particles,
                          std::int64_t min_cells);

}  // namespace sidestream::analysis
