#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sidestream/core/bill.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/replay.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/steering.hpp"
#include "sidestream/io/background_writer.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/run/staging.hpp"

namespace sidestream::sims {

/// What triggers remember, among the texts of a checkpoint.
inline const std::string triggers_text = "triggers";
/// What `SimulationPlan::physics` tells, as JSON, beside it. What was steered:
inline const std::string steering_text = "steering";

/// The plot files and checkpoints of a run. A checkpoint is written without waiting for anybody, as a pending one, and
/// committed once the results of everything published before it are on the disk: a restart from it leaves none out.
/// Where one of them, or a plot file, could not be written, it never is: it stays pending until a later one takes its
/// place, a restart begins with the one that was committed last, and makes what is missing.
/// There is one pending at most; what falls due meanwhile is put off until that one is committed, and who asks for one
/// by hand waits for that. All members but
/// `step_commit` are collective on the ranks that compute.
class Outputs {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// All references outlive the outputs.
  Outputs(const comm::Communicator& compute, RunConfig& config, couple::Session& session, couple::Steering& steering,
          const io::RunFolder& folder, core::Bill& bill, Say say);

  /// Writes what the session's schedule found due, or was put off and can be written now; tells of what was written
  /// behind the simulation.
  void write_due(Simulation& simulation);
  /// Writes a checkpoint because somebody asks for one: after that under way, and waiting for analyses of before until
  /// both are committed. Returns what the event adds. Throws core::Error on all ranks where it came to nothing.
  nlohmann::json write_by_hand(Simulation& simulation);
  /// Makes a run that has none write checkpoints where it is told to.
  void prepare_checkpoints();
  /// Of a replay: writes the checkpoint that one job ended with and another went on from, after what was steered there.
  void repeat_last(Simulation& simulation);
  /// Removes the folders of stages where nothing is left in them to go on from. Called last.
  void end();
  /// At the end of a run, after `write_due`: writes a checkpoint if the run may go on another time or one was put off,
  /// and waits for what is written behind the simulation.
  void write_last(Simulation& simulation, bool may_go_on);
  /// Commits what was staged before a restart, as far as it counts; then removes what is left of it.
  void begin(bool is_restart);
  /// The latter alone.
  void finish_writing() { report_written(true); }

  /// How the pending checkpoint stands. The first rank commits it as soon as it can and knows; the ranks agree by the
  /// maximum of what `step_commit` gives on each of them and hand it to `take`. An answer that was not taken is given
  /// again.
  enum class Commit : std::int64_t {
    none,
    silent,  // the sidecars, for too long
    failed,
    refused,  // something of before it could not be written
    done,
    // Of a file that sidecars were to write:
    lost_checkpoint,
    lost_plotfile,
    lost_plotfile_that_stops,
  };
  static constexpr std::int64_t commits = 8;
  Commit step_commit();
  void take(Commit commit);

  /// Whether a checkpoint waits for results of what was published before it.
  bool has_pending() const { return pending_.has_value(); }
  /// Whether sidecars have files to write yet; on the first rank.
  bool has_carried() const { return !carried_.empty(); }
  /// Commits it, if need be after waiting for those results, and takes what is known of files that sidecars write.
  void commit_pending();

  /// What does not protect from the loss of a node, and what is asked for of ranks that are not there.
  std::vector<core::Error> warnings() const;

  /// Plot files that could not be written.
  std::int64_t lost_plotfiles() const { return lost_plotfiles_; }
  /// Checkpoints that could not be written.
  std::int64_t lost_checkpoints() const { return lost_checkpoints_; }
  /// Why the run must stop, where it was told to when a file cannot be written; empty otherwise.
  const std::string& failure() const { return failure_; }

 private:
  // What a checkpoint holds: of a step, after so many changes by hand.
  struct State {
    std::int64_t step = -1, changes = 0;
    bool operator==(const State&) const = default;
  };
  // A file under way.
  struct Output {
    std::string what, path;
    const OutputConfig* config = nullptr;
    std::int64_t step = 0;
    bool is_asynchronous = false, is_carried = false;
    double copy_s = 0.0, wait_s = 0.0;
    std::optional<io::StagedSet> staged{};
    std::shared_ptr<std::string> told{};  // what was found while what is staged was read

    std::string kind() const { return what == "checkpoint" ? "checkpoints" : "plot files"; }  // in bills
  };
  struct Pending {
    Output output;
    couple::Session::Mark after;  // what was published before it
    bool is_whole = true;         // as far as plot files go
    bool is_noted = false;        // of one that is staged: a restart may begin with it
    bool is_note_problem_told = false;
    bool is_written = false;
    core::Stopwatch watch;  // since then
    std::int64_t put_off = 0;
    Commit commit = Commit::none;
    std::string problem;
  };

  State present(const Simulation& simulation) const { return {simulation.moment().step, steering_.changes()}; }
  void write_plotfile(Simulation& simulation, const OutputConfig& config, std::int64_t& last);
  void write_due_checkpoint(Simulation& simulation);
  bool repeat_checkpoint(Simulation& simulation, couple::CheckpointPoint point);
  void write_checkpoint(Simulation& simulation, couple::CheckpointPoint point);
  std::string resolved() const;
  void put_off(std::int64_t step);
  void write(Output output, Simulation& simulation, io::FileChoice choice);
  bool carry(Output& output, const mesh::Snapshot& snapshot, io::FileChoice choice);
  bool stage(Output& output, const mesh::Snapshot& snapshot, io::FileChoice choice);
  void leave_stage(const Output& output);
  void lose_staged(const Output& output, bool is_noted);
  void leave_kept();
  void note_staged();
  Commit hear_of_carried();
  void take_loss(Commit loss);
  void report_written(bool wait);
  void report(const Output& output, const io::BackgroundWriter::Outcome& outcome);
  void report_file(const Output& output, double seconds, const nlohmann::json& statistics);
  void become_written();
  void lose_pending();
  void lose_plotfile(std::int64_t step);
  void report_failure(const Output& output, const std::string& problem, bool stops);
  void tell_of_stripes(const Output& output, const io::AccessStatistics& statistics);
  void report_refusal(const Pending& pending);
  void remove_refused();

  const comm::Communicator& compute_;
  RunConfig& config_;
  couple::Session& session_;
  couple::Steering& steering_;
  const io::RunFolder& folder_;
  core::Bill& bill_;
  Say say_;
  Staging staging_;
  io::BackgroundWriter writer_;
  std::optional<Output> under_way_;
  struct Carried {
    Output output;
    std::int64_t number = 0;  // of its publish
  };
  std::deque<Carried> carried_;  // by sidecars, on the first rank
  std::string lost_;             // why the first of them could not be written, until all ranks know that
  std::optional<Pending> pending_;
  std::optional<Output> kept_;  // a staged checkpoint that counts and whose file could not be written
  bool is_put_off_ = false, stripes_are_told_ = false;
  std::string refused_;                       // the path of the newest refused one, as long as it lies there
  std::vector<std::int64_t> last_plotfiles_;  // of each
  std::int64_t lost_plotfiles_ = 0, lost_checkpoints_ = 0;
  State last_checkpoint_;
  bool last_is_lost_ = false;  // it could not be written or committed: whoever wishes for it may ask again
  std::string failure_;
};

}  // namespace sidestream::sims
