#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/roles.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/couple/task.hpp"

namespace sidestream::couple {

/// What happens to a publish for which the queue has no room.
enum class WhenFull {
  block,    ///< the simulation waits until there is room
  drop,     ///< it is left out, and counted
  in_situ,  ///< the ranks that compute do the analyses themselves
};

struct PolicyEntry {
  std::string name, documentation;
  WhenFull policy;
};
/// All policies there are.
const core::Registry<PolicyEntry>& policies();

/// The tables `[coupling]` and `[task.*]` of a configuration.
struct CouplingConfig {
  std::int32_t sidecars = 0;  ///< as asked for; see `sidecars_used`
  comm::SidecarCount count = comm::SidecarCount::total;
  double queue_bytes = 1024.0 * 1024.0 * 1024.0;  ///< published and not yet received, over all ranks
  WhenFull when_full = WhenFull::block;
  double timeout_s = 3600.0;  ///< longest silence of the other group
  TimeKeeping times;
  std::vector<Task> tasks;  ///< in the order of the file

  /// Sidecars that have something to do: none when no task is in transit, so that one word moves a run to in situ.
  int sidecars_used() const;
};

/// Reads and checks both tables of the whole configuration `root`, on each rank by itself; tasks with the key `write`
/// are others' business. Throws core::Error with
/// file, line and key. `times`: those of the simulation. Stores them with all defaults filled in as the members
/// `coupling` and `task` of `resolved` unless null.
CouplingConfig read_coupling(const core::Node& root, core::Node* resolved = nullptr,
                             const core::Registry<analysis::AnalysisEntry>& analyses = analysis::analyses(),
                             const TimeKeeping& times = {});

/// The processes to start when the user asks for `ranks`, and how they are divided. Throws core::Error for an
/// impossible number.
comm::RankCounts plan_ranks(int ranks, const CouplingConfig& config);

/// Throws core::Error when a publish of `cells` cells, those of all levels, and of `particle_bytes` of particles for
/// the tasks that read them, could never fit into the queue. Local, O(tasks).
void check_queue(const CouplingConfig& config, std::int64_t cells, double particle_bytes = 0.0);

/// Throws core::Error when a task, or a condition on when it is due, needs a field that is not among `names`, those
/// which a simulation publishes.
void check_fields(const CouplingConfig& config, std::span<const std::string> names);

/// The options of `[coupling]` and those of every `[task.NAME]` that belong to the coupling, for the reference.
std::vector<core::Option> coupling_options();
std::vector<core::Option> task_options();

}  // namespace sidestream::couple
