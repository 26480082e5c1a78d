#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

/// Does what the tasks of the transport `file` left for later: for each stored snapshot of the run folder, step by
/// step, those of its tasks that have no result of that step yet (of a task that looks back, all from the first
/// missing one on). Results are written as during a run, and are the same to the bit; events go to
/// `events.analyze.jsonl`. A snapshot that cannot be read is reported, as an analysis that fails is, and the others go
/// on. `tell` is given a line for each snapshot, and what the user should read, on the first rank.
///
/// Collective on `world`, of any size. Returns one entry a task of the transport `file` on rank 0 (empty elsewhere).
/// Throws core::Error on all ranks when nothing was stored.
std::vector<TaskTotals> analyze_stored(const comm::Communicator& world, const CouplingConfig& config,
                                       const io::RunFolder& folder, core::Bill& bill,
                                       const std::function<void(const std::string& line)>& tell);

/// Does all tasks of `config` with `snapshot`, whenever they would be due; `prepare` is called before each, on all
/// ranks. Results and events as above, these in the log of `group`; a failure is reported, and the other tasks go on.
/// Collective on `world`, whose ranks own the blocks of the snapshot. Returns one entry a task on rank 0 (empty
/// elsewhere).
std::vector<TaskTotals> analyze_snapshot(const comm::Communicator& world, const CouplingConfig& config,
                                         const mesh::Snapshot& snapshot, const io::RunFolder& folder,
                                         const std::string& group, core::Bill& bill,
                                         const std::function<void(const Task& task)>& prepare,
                                         const std::function<void(const std::string& line)>& tell);

}  // namespace sidestream::couple
