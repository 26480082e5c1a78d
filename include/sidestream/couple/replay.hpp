#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/steering_desk.hpp"

namespace sidestream::couple {

/// What became of a task at a step, where that was for a queue to say.
enum class PublishFate { analysed, left_out, done_here };

/// How a job of its own was ended by the clock or the user of its run.
struct EndOfJob {
  std::string message;
  bool is_unwritten = false;  ///< a restart does it again
};

/// At which point between two steps a checkpoint was begun.
enum class CheckpointPoint { outputs, by_hand, end };
std::string in_words(CheckpointPoint point);

/// Why a run ended before its simulation did.
enum class EndCause { wall_time, signal_of_user, signal_of_system, steering };
/// How events tell it.
std::string in_words(EndCause cause);

/// The decisions of an earlier run by clock, load or hand, as its events tell them: those that a run makes again, on
/// any number of ranks, instead of its own (docs/decisions/0065-replay.md lists them). The same on all ranks;
/// immutable.
class Replay {
 public:
  /// Of the events of a run, as lines of `events.jsonl`, and of its sidecars (may be empty). What a restart went back
  /// behind does not count, nor does half a line at the end, which a kill may leave. Throws core::Error, with `where`,
  /// for what are no events.
  Replay(const std::string& events, const std::string& events_of_sidecars, const std::string& where);

  /// Of the files `path` and `events.sidecar.jsonl` beside it. Local; throws core::Error.
  static Replay read(const std::string& path);
  /// The same, read on the first rank of `comm`. Collective; throws core::Error on all ranks.
  static Replay read(const comm::Communicator& comm, const std::string& path);

  /// Of the run, as its first event told them.
  const nlohmann::json& description() const { return description_; }
  const std::string& where() const { return where_; }
  /// The file that it began with; empty where it was its initial conditions.
  const std::string& start_file() const { return start_file_; }

  std::vector<Change> changes(std::int64_t step) const;
  /// The edits among them by arrays, which lie in files in `folder()`, beside the events. Throws core::Error for an
  /// edit that makes no sense.
  std::vector<RegionEdit> edits_by_arrays() const;
  std::string folder() const;
  bool was_due_by_clock(const std::string& trigger, std::int64_t step) const;
  PublishFate fate(const std::string& task, std::int64_t step) const;
  /// Why the job of its own that did a task was ended from outside; nothing where it came to its own end.
  std::optional<EndOfJob> end_of_job(const std::string& task, std::int64_t step) const;
  /// Whether a checkpoint was begun there, rather than put off.
  bool wrote_checkpoint(std::int64_t step, CheckpointPoint point) const { return checkpoints_.contains({step, point}); }
  /// Why the run ended after a step.
  std::optional<EndCause> end(std::int64_t step) const;

 private:
  using TaskAtStep = std::pair<std::string, std::int64_t>;

  void take(const nlohmann::json& event);
  void begin_checkpoint(std::int64_t step, CheckpointPoint point);
  void go_back(std::int64_t step);

  std::string where_, start_file_;
  int jobs_ = 0;
  nlohmann::json description_;
  std::map<std::int64_t, std::vector<Change>> changes_;
  std::set<TaskAtStep> due_by_clock_;
  std::map<TaskAtStep, PublishFate> fates_;
  std::map<TaskAtStep, EndOfJob> ended_jobs_;
  std::set<std::pair<std::int64_t, CheckpointPoint>> checkpoints_;
  std::pair<std::int64_t, std::size_t> begun_;  // the last checkpoint: its step, and how many changes of it it holds
  std::map<std::int64_t, std::size_t> held_;    // the same of those that were committed
  std::optional<std::pair<std::int64_t, EndCause>> end_;
};

}  // namespace sidestream::couple
