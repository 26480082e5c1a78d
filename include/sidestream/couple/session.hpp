#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/schedule.hpp"
#include "sidestream/couple/transport.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {
class EventLog;
class RunFolder;
}  // namespace sidestream::io

namespace sidestream::couple {

/// What a task did and cost over a run. Times are of rank 0 of the group that spent them.
struct TaskTotals {
  std::string task;
  std::int64_t count = 0;      ///< results written
  std::int64_t dropped = 0;    ///< moments left out because there was no room or the run was stopped
  std::int64_t failed = 0;     ///< moments without a result: the analysis threw, or what it found could not be written
  std::int64_t unwritten = 0;  ///< of these, the ones that could not be written
  double pack_s = 0.0;         ///< lost by the simulation: making and copying fields
  double wait_s = 0.0;         ///< lost by the simulation: waiting for room in the queue
  double compute_s = 0.0;      ///< spent in the analysis, wherever it ran
  std::int64_t bytes = 0;      ///< published into the queue
};

/// Throws core::Error on all ranks where a session could not begin on them: MPI that allows no threads, cores that are
/// not theirs, or jobs of their own that could not be started. `Session` asks this by itself; whoever removes something
/// for a session asks before. Collective on `world`.
void require_session(const comm::Communicator& world, const CouplingConfig& config);

/// The coupling of one run: splits the world, decides which tasks are due, brings snapshots to them and keeps the
/// books.
///
///     couple::Session session(world, config, run_folder, bill);
///     if (!session.computes()) return session.serve();
///     ... each step:
///       session.progress();
///       if (session.is_due({moment})) session.publish(snapshot);
///     const auto totals = session.finish();
///
/// Results go to `results/<task>/<step>.nc` of the run folder, events to `events.jsonl` (ranks that compute) and
/// `events.sidecar.jsonl`. The results are the same to the bit whichever ranks do the analysis.
class Session {
 public:
  using Warn = std::function<void(const std::string& text)>;

  /// Collective on `world`, with the same `config` on every rank; the folder exists. Its moment is the zero of the
  /// events' times. Throws core::Error on all ranks for an impossible number of sidecars. `bill` outlives the session;
  /// what it does is booked there, by task. `warn` is given what the user should read, on one rank of each group.
  Session(const comm::Communicator& world, CouplingConfig config, const io::RunFolder& folder, core::Bill& bill,
          Warn warn = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Whether this rank computes; sidecars call `serve` and nothing else.
  bool computes() const;
  const comm::RankCounts& counts() const;
  /// The ranks that compute (on a sidecar: the sidecars). Owners of published layouts are ranks of it. Transfers go on
  /// when `comm::progress` is called on it, or on what is duplicated or split from it, while the session lives.
  const comm::Communicator& compute_group() const;
  /// The event log of this rank's group.
  io::EventLog& log();

  /// Sidecars: does the analyses that arrive, first in, first out, until the ranks that compute finish; then writes the
  /// bill. Collective on the sidecars.
  void serve();

  /// What is due when: the tasks by their names, and what is added to it before the first step. Of the ranks that
  /// compute; asked through `is_due` and `publish`.
  Schedule& schedule();
  /// Whether a task is due on this occasion; asked once a step at least, in order. Local and cheap unless a trigger has
  /// a condition or goes by wall time, or a task of a thread is under way, whose results are written here: then
  /// collective on the ranks that compute, and `snapshot` may be asked for the present state.
  bool is_due(const Occasion& occasion, const PresentState::SnapshotOf& snapshot = {});
  /// The quantities among `known` that tasks read on the grid of the state which are due after `step` steps, as far as
  /// that number tells. Local.
  std::vector<std::string> foreseen(std::int64_t step, const std::vector<mesh::Quantity>& known);
  /// Goes on at the moment of a checkpoint, where what was due is done, with what `schedule().memory()` was then.
  void resume(const mesh::Moment& moment, const std::string& memory = {});

  /// Brings a snapshot to the tasks that are due at its moment, each by its transport, those in situ last. Collective
  /// on the ranks that compute. Waits for others only when the queue is full and `when_full` says so; then at most
  /// `timeout_s`, after which it throws core::Error on all ranks. An analysis that fails is reported and skipped. One
  /// copy of the data that leave: fields, and particles for tasks that read them. Throws core::Error on all ranks, too,
  /// when such a particle is in no cell of its rank or the ranks tell of different attributes.
  void publish(const mesh::Snapshot& snapshot);

  /// Has sidecars write a file of `state`, which was made to be carried (`io::CarriedContent`), as `publish` brings
  /// snapshots to tasks. Where its number is 0 nobody does: the ranks that compute are to write it themselves.
  Transport::Carried publish_file(const mesh::Snapshot& state, FileOrder order);
  /// What has become of the file of a publish, once, as soon as the first rank knows. Local, never waits.
  std::optional<FileOutcome> outcome_of(std::int64_t number);

  /// Lets transfers go on: call it once a step, and in long steps between two pieces of work (or
  /// `comm::progress(compute_group())`). Where MPI moves data only when it is called, nothing is sent in between. Local
  /// and cheap; while data flow it takes at most a tenth of the time.
  void progress();

  /// What was published so far, to be asked about later; the same on all ranks that compute.
  struct Mark {
    std::vector<std::int64_t> sent;  ///< by each transport
  };
  Mark mark();
  /// How everything up to a mark stands, as the first rank knows it. What was dropped is done.
  struct Outlook {
    bool is_done = true;      ///< analysed, the results on the disk, or reported as failed, unwritten or dropped
    bool are_written = true;  ///< each result of what is done
    double silence_s = 0.0;   ///< since those were heard of who have something to do yet
  };
  /// Local, never waits.
  Outlook outlook(const Mark& mark);
  /// Waits until everything up to a mark is done. Collective on the ranks that compute. Throws core::Error on all ranks
  /// when those who analyse were silent for `timeout_s`.
  void wait_for(const Mark& mark);

  /// Ends whoever analyses, after the analyses under way and, with `Drain::yes`, those that wait. Collective on the
  /// ranks that compute, called once. Returns one entry a task on rank 0 (empty elsewhere).
  std::vector<TaskTotals> finish(Drain drain = Drain::yes);

  /// Writes the event `bill` of the ranks that compute: all lines, mean and largest of the ranks. Collective on them.
  void write_bill();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sidestream::couple
