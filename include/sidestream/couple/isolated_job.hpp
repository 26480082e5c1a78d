#pragma once

#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/io/run_folder.hpp"

// A task that is a job of its own (`isolate = true`). A run starts its own program (`CouplingConfig::job_program`) as
//
//     PROGRAM --keep-job RUN DEADLINE_S mpiexec -n RANKS PROGRAM FOLDER/config.toml --out FOLDER --job ADDRESS
//
// which `keep_job` answers; the program at the end of it calls `do_job`.
namespace sidestream::couple {

/// The work of the keeper of a job: starts `words[2]` with what follows, and waits for its end. Ends it with all that
/// descends from it, by SIGKILL, after `words[1]` seconds, and when the process `words[0]`, which started the keeper,
/// is gone; what Open MPI keeps in files of the job is removed with it. Says on stdout, in JSON, how the job ended.
/// Returns the exit code of the process, which has one thread and has called nothing of MPI.
int keep_job(const std::vector<std::string>& words);

/// The work of the job: does the task that the run told of, with the data that lie in the memory of the run's ranks,
/// writes its result and events (`events.isolated.jsonl`), and tells the run. Collective on `world`, of as many ranks
/// as compute in the run. Throws core::Error on all ranks where the run does not answer.
void do_job(const comm::Communicator& world, const CouplingConfig& config, const io::RunFolder& folder,
            core::Bill& bill, const std::string& address);

}  // namespace sidestream::couple
