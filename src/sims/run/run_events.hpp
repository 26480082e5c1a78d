#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sidestream/couple/session.hpp"

namespace sidestream::sims {

/// What the events of a run tell of this machine, of the memory that this rank has taken at most, and of its tasks.
nlohmann::json machine();
double peak_memory_mb();
nlohmann::json totals_as_json(const std::vector<couple::TaskTotals>& totals);

}  // namespace sidestream::sims
