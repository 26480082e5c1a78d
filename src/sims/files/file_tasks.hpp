#pragma once

#include <string>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::sims {

/// Whether a configuration is one of a run, by a simulation or of a session: it says what is computed, or written.
bool is_of_run(const core::Node& root);

/// What of `root` is for states in files: the tasks, or those of them that `names` names (`igm` is `igm_flux` and
/// `igm_power` too, the parts of a suite), due at the end of what there is unless they say when. Of the configuration
/// of a run come its tasks that make results, without what they say of transports and moments, quantities and
/// heating; nothing else. Throws core::Error where nothing is left, naming the tasks there are.
core::Node tasks_for_files(const core::Node& root, const std::vector<std::string>& names);

/// Has tasks that name the grid that `file` is of read the file. Throws core::Error where a task names another one.
void take_grid_of(const mesh::Snapshot& file, couple::CouplingConfig& config);

}  // namespace sidestream::sims
