#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/roles.hpp"
#include "sidestream/core/compression.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/couple/task.hpp"
#include "sidestream/io/file_choice.hpp"

namespace sidestream::couple {

class Replay;
class SteeringDesk;

/// What happens when the queue has no room for a publish. Only what nobody has begun to receive can give way.
struct PolicyEntry {
  enum class GivesWay {
    nothing,
    oldest,  ///< of what waits, as far as need be
    all,     ///< that waits, even where there is room
  };
  enum class Otherwise {
    wait,
    leave_out,  ///< and count
    do_here,    ///< on the ranks that compute
    store,      ///< on a disk, until there is room
  };
  std::string name, documentation;
  GivesWay gives_way = GivesWay::nothing;
  Otherwise otherwise = Otherwise::wait;  ///< where there is no room all the same
};
/// All policies there are.
const core::Registry<PolicyEntry>& policies();

/// The table `[stream]`: how other jobs reach tasks of the transport `stream`.
struct StreamConfig {
  std::string listen;         ///< "local", for jobs of the same user on the same node, or tcp://HOST:PORT
  std::string keys;           ///< the folder of keys (`stream::KeyFolder`); "none": nobody is asked who he is
  double timeout_s = 30.0;    ///< longest silence of a reader
  std::int32_t gateways = 0;  ///< ranks that readers can reach; 0: all
  std::int32_t wait_for = 0;  ///< readers without which the run does not publish its first step
};

/// A file that sidecars write.
struct CarriedFile {
  std::string kind;       ///< "checkpoints" or "plot files", in bills
  io::FileChoice choice;  ///< without texts
};

/// The tables `[coupling]`, `[stream]` and `[task.*]` of a configuration.
struct CouplingConfig {
  std::int32_t sidecars = 0;  ///< as asked for; see `sidecars_used`
  comm::SidecarCount count = comm::SidecarCount::total;
  double queue_bytes = 1024.0 * 1024.0 * 1024.0;  ///< published and not yet taken up, over all ranks
  const PolicyEntry* when_full = &policies().front();
  std::string spill;              ///< the folder for what is stored
  bool shares_memory = true;      ///< between the groups, where both are on a node
  std::vector<int> cores;         ///< of each node, on which threads analyse; none: where their rank runs
  double timeout_s = 3600.0;      ///< longest silence of the other group
  core::Compression compression;  ///< of stored snapshots
  std::string queue_where;        ///< the place of its size
  std::string job_program;        ///< which does a task as a job of its own (`isolated_job.hpp`); empty: there is none
  std::function<bool()> is_interrupted;    ///< whether the user waits for the run to end; jobs are not waited for then
  std::shared_ptr<SteeringDesk> steering;  ///< where a run is steered, on its first rank; null: it is not
  std::shared_ptr<const Replay> replay;    ///< the decisions that are made again; null: the run makes its own
  StreamConfig stream;
  TimeKeeping times;
  std::vector<Task> tasks;         ///< in the order of the file
  std::vector<CarriedFile> files;  ///< those of others, by `add_file`

  /// Sidecars that have something to do: none when no task's transport needs any, so that one word moves a run to in
  /// situ.
  int sidecars_used() const;
  /// Whether the data of any task wait in the queue.
  bool uses_queue() const;
  /// Whether each rank that computes has a second thread, which analyses.
  bool uses_threads() const;
};

/// Reads and checks both tables of the whole configuration `root`, on each rank by itself; tasks with the key `write`
/// are others' business. Throws core::Error with
/// file, line and key. `times`: those of the simulation. Stores them with all defaults filled in as the members
/// `coupling` and `task` of `resolved` unless null.
CouplingConfig read_coupling(const core::Node& root, core::Node* resolved = nullptr,
                             const core::Registry<analysis::AnalysisEntry>& analyses = analysis::analyses(),
                             const TimeKeeping& times = {},
                             const core::Registry<TransportEntry>& transports = couple::transports());

/// Has sidecars write a file that takes so many bytes to carry. Throws core::Error, with the place of `transport`, the
/// key that says so, where there are no sidecars, where such a publish could never fit into the queue, and where a full
/// queue would have it left out.
void add_file(CouplingConfig& config, CarriedFile file, double bytes, const core::Node& transport);

/// The processes to start when the user asks for `ranks`, and how they are divided. Throws core::Error for an
/// impossible number.
comm::RankCounts plan_ranks(int ranks, const CouplingConfig& config);

/// Particles of a kind, before there are any.
struct ExpectedSpecies {
  std::string name;
  std::vector<std::string> numbers;  ///< what plot files tell of them beside id and position
  double bytes = 0.0;                ///< with ids, positions and attributes, over all ranks
};

/// What tasks are given, before there is any.
struct Expected {
  mesh::Grids grids;
  std::map<std::string, std::vector<ExpectedSpecies>> species{};  ///< by the grid in whose cells they lie
  /// How to come by quantities that are not there, by name, for messages.
  std::map<std::string, std::string> ways{};
};

/// The grid that `table`, of a task or a file, names. Throws core::Error with the place.
const mesh::Grid& grid_named(const mesh::Grids& grids, const std::string& name, const core::Node& table);

/// Throws core::Error, with the place, when a publish of the fields of level 0 and of the particles, for the tasks that
/// read them, could never fit into the queue. Local, O(tasks).
void check_queue(const CouplingConfig& config, const Expected& expected);

/// Throws core::Error, with the place, when a task, or a condition on when it is due, needs a field or a species that
/// there is not, or a task asks for more cells than it can have.
void check_tasks(const CouplingConfig& config, const Expected& expected);

/// The options of `[coupling]`, of `[stream]` and those of every `[task.NAME]` that belong to the coupling, for the
/// reference.
std::vector<core::Option> coupling_options();
std::vector<core::Option> stream_options();
std::vector<core::Option> task_options();

}  // namespace sidestream::couple
