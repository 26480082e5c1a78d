#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "couple/earlier_results.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/task.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::analysis {
class Painter;
}  // namespace sidestream::analysis

namespace sidestream::couple {

/// How the data of an analysis came.
struct Delivery {
  std::string transport;   ///< that brought them
  std::int64_t bytes = 0;  ///< sent for this task
  double wait_s = 0.0;     ///< until they were here
};

/// What an analysis has found, or why it has found nothing: all that is needed to write it down.
struct Finding {
  mesh::Moment moment;
  Delivery delivery;
  mesh::Result result;
  std::string problem;  ///< empty: none
  double start = 0.0, compute_s = 0.0;
  bool has_pictures = false;  ///< written, and waiting for their name
  std::string unwritten{};    ///< why they were not; empty: they were, or there are none
};

/// Runs tasks on a group of ranks: calls the analysis, writes its result and the event, and turns a failure into a
/// report.
class TaskRunner {
 public:
  /// `log` belongs to the group and outlives the runner, as `bill` does. Collective on `group`.
  TaskRunner(const comm::Communicator& group, io::RunFolder folder, io::EventLog& log, core::Bill& bill,
             Session::Warn warn, double timeout_s);

  /// The first step that the session was asked about; said before the first `run`.
  void begin_at(std::int64_t first_step) { earlier_.begin_at(first_step); }
  std::int64_t first_step() const { return earlier_.first_step(); }

  /// Calls the analysis and writes what it finds. Collective on the group, as both parts of it are.
  void run(const Task& task, const mesh::Snapshot& snapshot, const Delivery& delivery, TaskTotals& totals);
  /// Calls the analysis. Whatever it throws is in the finding, on all ranks alike; an error escapes only when one rank
  /// failed and the others never came back from the analysis.
  Finding analyse(const Task& task, const mesh::Snapshot& snapshot, const Delivery& delivery);
  /// Writes the result and the event, or reports. Returns whether there is a result.
  bool settle(const Task& task, const Finding& finding, TaskTotals& totals);

  /// The result with which a task that looks back compares at `step`, read from the run folder where none is kept.
  /// Collective on the group.
  const mesh::Result& earlier_result(const Task& task, std::int64_t step);
  /// Keeps what a file with this finding would give back, for the next moment.
  void keep(const Task& task, const mesh::Moment& moment, mesh::Result result);
  /// Keeps a result that was read from one.
  void keep_read(const Task& task, mesh::Result result) { earlier_.keep(task.name, std::move(result)); }

  /// Reports that a task could not be done: event, count, and for the first time a warning.
  void report_failure(const Task& task, std::int64_t step, const std::string& message, TaskTotals& totals);
  /// Reports a result that was found and could not be written: no checkpoint after it counts, so that a restart makes
  /// it again.
  void report_unwritten(const Task& task, std::int64_t step, const std::string& message, TaskTotals& totals);

 private:
  void report(const Task& task, std::int64_t step, const std::string& message, const std::string& consequence);
  void warn_once(const Task& task, std::int64_t step, const std::string& message, const std::string& consequence);
  void write_pictures(const Task& task, const analysis::Painter& painter, const mesh::Snapshot& snapshot,
                      Finding& finding);
  void write(const Task& task, const std::string& path, const Finding& finding);
  void renew_analysis_group();
  std::string problem_of_any_rank(const std::string& mine, const Task& task) const;

  comm::Communicator group_, analysis_group_;
  io::RunFolder folder_;
  io::EventLog* log_;
  core::Bill* bill_;
  Session::Warn warn_;
  double timeout_s_;
  std::set<std::pair<std::string, std::string>> warned_;  // of which task, and what comes of it
  EarlierResults earlier_;
};

}  // namespace sidestream::couple
