#pragma once

#include <string>
#include <vector>

#include "io/results/result_rows.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::io {

/// What a result file holds, but for the rows of its distributed columns.
struct StoredResult {
  mesh::Result result;  ///< the distributed dimensions have their whole length, their columns no values
  std::vector<SpreadColumn> spread;
};

/// Reads and checks all but the rows. Local. Throws core::Error.
StoredResult read_stored_result(const std::string& path);

}  // namespace sidestream::io
