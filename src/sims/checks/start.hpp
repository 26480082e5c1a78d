#pragma once

#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

/// The tasks of a configuration by their names.
std::vector<std::string> names_of_tasks(const RunConfig& config);

/// That `folder` holds no checkpoint to restart from; `problem` says what is wrong with the newest one, if there is
/// one.
core::Error no_checkpoint(const std::string& folder, const std::string& problem);

/// That a run can begin as it is told to: that is tried, as what its files hold shows when they are read. Collective.
void require_start(const comm::Communicator& world, const RunConfig& config, const RunStart& start);

}  // namespace sidestream::sims
