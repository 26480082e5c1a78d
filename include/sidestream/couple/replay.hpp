#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/region_edit.hpp"

namespace sidestream::couple {

struct Change;

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
  const nlohmann::json& description() const;
  const std::string& where() const { return where_; }
  /// The file that it began with; empty where it was its initial conditions.
  const std::string& start_file() const;

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
  bool wrote_checkpoint(std::int64_t step, CheckpointPoint point) const;
  /// Why the run ended after a step.
  std::optional<EndCause> end(std::int64_t step) const;

 private:
  struct Told;
  std::string where_;
  std::shared_ptr<const Told> told_;
};

}  // namespace sidestream::couple
