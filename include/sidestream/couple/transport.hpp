#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

struct Surroundings;

/// What bringing a snapshot to a task has cost the ranks that compute.
struct Charge {
  double pack_s = 0.0, wait_s = 0.0;
  std::int64_t bytes = 0, queue_bytes = 0;
};

/// A task that is due, an index into the configuration, and what it has cost so far at this moment.
struct Order {
  std::size_t task = 0;
  Charge charge{};
  std::string refusal{};  ///< of one that was not taken: why nobody can do it; empty: the ranks that compute can
};
using Orders = std::vector<Order>;

/// A file that sidecars are to write.
struct FileOrder {
  std::size_t file = 0;    ///< an index into `CouplingConfig::files`
  std::string path, rest;  ///< `rest`: of `io::CarriedContent`
  std::int64_t bytes = 0;  ///< that travel
};

/// What has become of it.
struct FileOutcome {
  std::string error;      ///< empty: written
  double seconds = 0.0;   ///< for writing it
  std::string io = "{}";  ///< `io::AccessStatistics` of all who wrote, as JSON
};

/// How far a transport is. What was left out counts neither as sent nor as something to wait for.
struct Standing {
  std::int64_t sent = 0;  ///< publishes so far; the same on all ranks
  /// How many of them are done, in the order in which they were sent: analysed, the results on the disk, or reported as
  /// failed, unwritten or dropped. Known to the first rank, as all below.
  std::int64_t done = 0;
  std::optional<std::int64_t> first_unwritten{};  ///< of those done, the number of the first that lacks a result
  double silence_s = 0.0;                         ///< since those who analyse were heard of
};

/// What happens to publishes that wait when a run ends.
enum class Drain {
  yes,  ///< they are analysed
  no,   ///< they are dropped, and counted
};

/// Brings snapshots to analyses. Lives on the ranks that compute; all members but `progress` and `standing` are
/// collective on them, and throw core::Error on all ranks when those who analyse were silent for too long.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Brings a snapshot to tasks. Returns those that it did not take, which are to be done in situ, or to be
  /// reported.
  virtual Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) = 0;
  /// Has a file written of `state`, which was made to be carried. Returns the charge and the number of the publish; 0
  /// where nobody else can, so that the ranks that compute do.
  struct Carried {
    Charge charge;
    std::int64_t number = 0;
  };
  virtual Carried publish_file(const mesh::Snapshot& /*state*/, FileOrder /*order*/) { return {}; }
  /// What became of the file of a publish, once, as soon as the first rank knows. Local, never waits.
  virtual std::optional<FileOutcome> outcome_of(std::int64_t /*number*/) { return std::nullopt; }
  /// Lets transfers go on. Local, never waits, does not throw.
  virtual void progress() {}
  /// Local, never waits.
  virtual Standing standing() = 0;
  /// Called once a step, with 0, and where a count of publishes has to be done: settles what is finished without
  /// waiting, and waits until the first `count` are done. Costs nothing where nothing is under way.
  virtual void settle(std::int64_t count) = 0;
  /// Ends whoever analyses, after what is under way and, with `Drain::yes`, what waits. Called once.
  virtual void finish(Drain drain) = 0;
};

struct TransportEntry {
  std::string name, documentation;
  /// Makes one, collectively on the ranks that compute. The surroundings outlive it.
  std::function<std::unique_ptr<Transport>(Surroundings& around)> make;
  /// The work of a sidecar until the ranks that compute are done; empty for a transport that needs none.
  std::function<void(Surroundings& around)> serve{};
  bool has_queue = false;      ///< whether publishes wait in memory, so that the keys of the queue count
  bool needs_threads = false;  ///< whether several threads call MPI
  /// Whether its tasks may be jobs of their own (`isolate`): then the simulation waits for these, or has them queue up.
  bool may_isolate = false;
};

/// All transports there are; the first one is for tasks that name none.
const core::Registry<TransportEntry>& transports();

}  // namespace sidestream::couple
