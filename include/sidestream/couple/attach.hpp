#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

/// What the first rank of the run at `where` (as for `StreamReader`) answers to a request: `{"kind": "status"}`,
/// `{"kind": "configuration"}`, or what steers it. Local, for one process. Throws core::Error where there is no run, or
/// it does not answer in time, or refuses.
nlohmann::json ask_run(const std::string& where, const std::string& keys, const nlohmann::json& request,
                       double timeout_s);

/// The configuration of the run at `where`, which may not be there for `patience_s`. Collective on `world`; ranks that
/// wait leave their processors to others. Throws core::Error as `ask_run`.
std::string configuration_of_run(const comm::Communicator& world, const std::string& where, const std::string& keys,
                                 double timeout_s, double patience_s);

/// Does `task` with each step that `reader` brings, and writes its results into `folder` as the run would, to the bit;
/// events go to `events.attach.TASK.jsonl`. A step whose result is there is acknowledged, and not done again. `tell` is
/// given a line for each step, and what the user should read, on the first rank. Collective on `world`. Returns when
/// the run ends.
TaskTotals attach(const comm::Communicator& world, StreamReader& reader, const Task& task, const io::RunFolder& folder,
                  core::Bill& bill, const std::function<void(const std::string& line)>& tell);

}  // namespace sidestream::couple
