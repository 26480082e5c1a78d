#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/core/known_bytes.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/mesh/derived.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/sims/simulation.hpp"

namespace sidestream::sims {

/// When and how plot files or checkpoints are written: `[output]`, or a task that writes.
struct OutputConfig {
  std::string where{};  ///< its table in the configuration
  std::string task;     ///< its name, that of the folder of its files too; empty: `[output]`
  couple::Trigger trigger;
  std::string grid{};  ///< of the snapshot's
  io::FileChoice file;
  std::int32_t keep = 0;                 ///< newest checkpoints that stay; 0: all
  bool is_asynchronous = false;          ///< written from a copy, behind the simulation
  std::optional<std::size_t> carried{};  ///< of a file that sidecars write: its index into `CouplingConfig::files`
  bool stops_on_failure = false;         ///< the run ends when a file cannot be written
  std::string stage{};                   ///< folder of each node where it is written first (`io::Stage`); empty: none
  std::string stage_where{};             ///< the place of that
};

/// A whole configuration, read and checked.
struct RunConfig {
  std::string simulation;
  std::optional<std::int64_t> max_steps;
  std::optional<double> wall_time_s;
  bool is_steered = false;  ///< whether somebody may change the run while it goes on
  redistribute::ExchangeChoice exchange;
  std::unique_ptr<SimulationPlan> plan;
  std::vector<mesh::DerivedQuantity> derived;  ///< as `[quantity.NAME]` declares them
  couple::CouplingConfig coupling;
  std::vector<OutputConfig> plotfiles;
  std::optional<OutputConfig> checkpoint;
  std::map<std::string, std::string> task_files;  ///< digests of the files of tasks in Python, by task
  bool begins_anew = true;                        ///< rather than with the state in a file
  std::string resolved;                           ///< the configuration with every default filled in, as TOML
  std::shared_ptr<const core::KnownBytes> read;   ///< of files that the configuration names; null: nothing

  /// All quantities of the run's snapshots on the grid of the state: those of the simulation and derived ones.
  std::vector<mesh::Quantity> quantities() const;
  /// All grids of the run's snapshots.
  mesh::Grids grids() const;
  /// The present state with all of them.
  mesh::Snapshot snapshot_of(Simulation& running) const;
  /// What the run lands on exactly.
  couple::Landings landings() const;
};

/// Reads and checks `root`; throws core::Error with file, line, key and hint. Needs no MPI and allocates no field.
/// `begins_anew`: rather than with the state in a file, of which it is not known when it is. `known`: the simulations
/// that the configuration may name; those of another program run as ours do.
RunConfig read_run(const core::Node& root, bool begins_anew = true,
                   const core::Registry<SimulationEntry>& known = simulations());

/// The format of checkpoints where nobody chooses one.
std::string usual_checkpoint_format(bool has_equal_blocks);

/// The options of `[run]`, for the reference and for those who steer; and those of a kind of file in `[output]`.
std::vector<core::Option> run_options();
std::vector<core::Option> output_options(const std::string& kind);

/// What `check` tells: ranks and memory that the run would take when `ranks` are asked for. Throws core::Error for an
/// impossible number. (Whether there is so much memory is seen where it runs, which may be elsewhere.)
nlohmann::json describe(const RunConfig& config, int ranks);

/// Memory, ranks of a usual size, and files of a run whose mesh has `times` as many cells as that of `config`.
std::string size_in_words(const RunConfig& config, double times = 1.0);

/// The same of a configuration that was refused and takes more memory than this machine has free, as a mesh that is
/// smaller by a power of two tells it; empty where that is refused too.
std::string size_of_refused(const core::Node& root, bool begins_anew);

/// Throws core::Error unless this machine has free what `here` of the ranks that compute take from the start. Local.
void require_memory(const RunConfig& config, int computing, int here);

/// How a run ended: at its end or a limit of its own; there, but with results or plot files that could not be made; by
/// a signal; because the simulation could not go on.
enum class RunStatus { finished, incomplete, interrupted, stopped };

/// How a run begins.
struct RunStart {
  io::ExistingRun existing = io::ExistingRun::refuse;  ///< `resume`: from the newest good checkpoint in the folder
  std::string file{};  ///< begins with the state in this file, of any format; empty: with its initial conditions
  core::Bill::Clock::time_point began = core::Bill::Clock::now();  ///< of the program: where the bill begins
  bool tells_steps = true;                                         ///< one line a step
  std::string replay{};  ///< events of a run whose decisions are made again; empty: none
  std::string going_on = "`--restart`", replacing = "`--overwrite`";  ///< how the user asks for these, in hints
  std::vector<std::string> allowed_changes{};  ///< keys of the physics that may differ from those of the file
};

/// Throws core::Error when another run has `folder`, when there is nothing in it, or no such file, to begin with, and
/// when a run that goes on has other physics than its newest checkpoint, or one that begins other than it takes from
/// its file, but for changes that are allowed. Local; writes nothing.
void check_start(const RunConfig& config, const std::string& folder, const RunStart& start);

/// A run in parts, for programs that take its steps themselves; `run` is all of it:
///
///     SteppedRun steps(world, config, folder, start, tell);
///     if (!steps.computes()) return steps.serve();
///     steps.begin();
///     while (steps.goes_on()) steps.take_step();
///     steps.end();
///
/// All members but the accessors are collective on the ranks that compute, `serve` on the sidecars.
class SteppedRun {
 public:
  /// Prepares the folder, of which an earlier run is replaced once the start has been tried, and makes the simulation.
  /// Collective on `world`. `progress` is given what the user should read, on the first rank of each group.
  SteppedRun(const comm::Communicator& world, RunConfig config, const std::string& folder, RunStart start,
             std::function<void(const std::string& line)> progress);
  ~SteppedRun();

  bool computes() const;
  /// Sidecars: does their analyses until the run ends.
  void serve();

  Simulation& simulation();
  core::Bill& bill();
  /// The state before the first step, and what is due there.
  void begin();
  /// Between two steps: whether another one follows; else the last outputs are written. Waits while the run is paused
  /// by hand.
  bool goes_on();
  /// Tells the simulation what will be asked for after the next step.
  void foresee();
  /// One step of the simulation with what is due after it. Returns whether there was one to take.
  bool take_step();
  /// The simulation has taken a step by itself, in `seconds`: does what is due after it.
  void step_taken(double seconds);
  /// Lets transfers go on, within a long step. Local and cheap.
  void progress();
  /// Ends tasks and outputs, and writes the last events. Without a state, where `goes_on` has not said that no step
  /// follows, there is no last checkpoint.
  RunStatus end(bool has_state = true);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs a configuration on `world`: from its beginning, then steps with their tasks and outputs until the end, a limit
/// or a signal. An earlier run in the folder is replaced once the start has been tried: a damaged file costs nothing.
/// Every rank of `world` calls it. `progress` is given what the user should read, on the first rank of each group.
RunStatus run(const comm::Communicator& world, RunConfig config, const std::string& folder, const RunStart& start,
              const std::function<void(const std::string& line)>& progress);

/// States in files, of any formats, and the run folder that results of them go to.
struct FilesToAnalyze {
  std::vector<std::string> files;  ///< of different steps
  std::vector<std::string> tasks;  ///< those of the configuration that are done, by name; none: all
  std::string folder;
  bool overwrites = false;  ///< earlier results in the folder of tasks with files; never a run of a simulation
};

/// Does the tasks of `root` (`[task.*]`, with `[quantity.*]`, `[heating]` and `[coupling]`; or those of the
/// configuration of a simulation) with the states in files; triggers need not be said. The first is done by all ranks
/// of `world`. The others follow in the order of their steps where a task looks back or they are large; else they are
/// dealt to groups of ranks that go on side by side, with the same results. Returns how many results could not be made,
/// on rank 0; throws core::Error on all ranks where a file has not what the tasks need, where two are of one step, and
/// where the folder holds what may not be replaced. `tell` is given a line a task.
std::int64_t analyze_files(const comm::Communicator& world, const core::Node& root, const FilesToAnalyze& what,
                           core::Bill& bill, const std::function<void(const std::string& line)>& tell);

/// While it lives, SIGINT, SIGTERM and SIGUSR1 end a run after its present step instead of at once; then they do what
/// they did before.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  std::array<struct sigaction, 3> before_;
};

}  // namespace sidestream::sims
