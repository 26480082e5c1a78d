#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/replay.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::sims {

/// Has a run make the decisions again that the events at `path` tell of. Collective.
void replay_decisions(const comm::Communicator& world, const std::string& path, couple::CouplingConfig& coupling);

/// Brings the arrays of edits to the run that makes these again. Collective.
void take_edit_arrays(const comm::Communicator& world, const couple::Replay& replay, const io::RunFolder& folder);

}  // namespace sidestream::sims
