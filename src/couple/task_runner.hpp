#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "couple/earlier_results.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/task.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

/// How the data of an analysis came.
struct Delivery {
  Transport transport = Transport::in_situ;
  std::int64_t bytes = 0;  ///< sent for this task
  double wait_s = 0.0;     ///< until they were here
};

/// The results of all tasks that could not be written.
std::int64_t unwritten(const std::vector<TaskTotals>& totals);

/// The step and, where there is one, the redshift, as every event has them.
nlohmann::json to_json(const mesh::Moment& moment);

/// Runs tasks on a group of ranks: calls the analysis, writes its result and the event, and turns a failure into a
/// report.
class TaskRunner {
 public:
  /// `log` belongs to the group and outlives the runner, as `bill` does. Collective on `group`.
  TaskRunner(const comm::Communicator& group, io::RunFolder folder, io::EventLog& log, core::Bill& bill,
             Session::Warn warn, double timeout_s);

  /// The first step that the session was asked about; said before the first `run`.
  void begin_at(std::int64_t first_step) { earlier_.begin_at(first_step); }

  /// Collective on the group. Whatever the analysis throws is reported on all ranks alike; an error escapes only when
  /// one rank failed and the others never came back from the analysis.
  void run(const Task& task, const mesh::Snapshot& snapshot, const Delivery& delivery, TaskTotals& totals);

  /// Reports that a task could not be done: event, count, and for the first time a warning.
  void report_failure(const Task& task, std::int64_t step, const std::string& message, TaskTotals& totals);
  /// Reports a result that was found and could not be written: no checkpoint after it counts, so that a restart makes
  /// it again.
  void report_unwritten(const Task& task, std::int64_t step, const std::string& message, TaskTotals& totals);

 private:
  void report(const Task& task, std::int64_t step, const std::string& message, const std::string& consequence);
  std::string problem_of_any_rank(const std::string& mine, const Task& task) const;
  mesh::Result analyse(const Task& task, const mesh::Snapshot& snapshot, const mesh::Result* earlier) const;
  const mesh::Result* earlier_result(const Task& task, std::int64_t step);

  comm::Communicator group_, analysis_group_;
  io::RunFolder folder_;
  io::EventLog* log_;
  core::Bill* bill_;
  Session::Warn warn_;
  double timeout_s_;
  std::set<std::string> warned_;
  EarlierResults earlier_;
};

}  // namespace sidestream::couple
