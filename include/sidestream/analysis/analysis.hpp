#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/result.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// Maps a snapshot to small named tables. It does not know how the snapshot reached it, nor who runs it.
class Analysis {
 public:
  virtual ~Analysis() = default;

  /// Names of the snapshot's fields it reads, so that only these are computed and sent. A name that ends in '?' is
  /// optional: the field is sent if the simulation has it, and `run` finds out by `snapshot.has`.
  virtual std::vector<std::string> fields() const = 0;

  /// Throws core::Error when it cannot be done in a box of these cells on level 0, whatever the state.
  virtual void check(const mesh::Box& domain) const { static_cast<void>(domain); }

  /// Names of the species whose particles it reads, so that they are sent. An empty name is that of the first species,
  /// if there are particles.
  virtual std::vector<std::string> species() const { return {}; }

  /// Collective on `comm`, whose ranks are the owners in `snapshot.levels`. The result is complete on rank 0, but for
  /// its distributed columns. The same bits for any number of ranks.
  virtual mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const = 0;

  /// Whether it compares with the moment before: then `run_after` is called instead of `run`.
  virtual bool looks_back() const { return false; }
  /// The same with the newest result of an earlier step: as it was returned, but for the deal of its distributed rows.
  /// It has no columns where there is none.
  virtual mesh::Result run_after(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                 const mesh::Result& earlier) const {
    static_cast<void>(earlier);
    return run(comm, snapshot);
  }
};

/// What `analysis` finds, after an earlier result where there is one, with what every result says: the attribute
/// `finest_level`, 0 on a uniform grid. Collective as `Analysis::run`.
mesh::Result carry_out(const Analysis& analysis, const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                       const mesh::Result* earlier = nullptr);

/// An analysis by name, with what its configuration may hold.
struct AnalysisEntry {
  std::string name, documentation;
  /// Makes one from the `[task.NAME]` table (whose keys analysis, transport, every, at_redshift and the like belong to
  /// the coupling and are ignored here). Stores the table with its defaults filled in `resolved` unless null. Throws
  /// core::Error for bad parameters.
  std::function<std::unique_ptr<Analysis>(const core::Node& table, core::Node* resolved)> make;
  std::function<std::vector<core::Option>()> options;
};

/// All analyses there are.
const core::Registry<AnalysisEntry>& analyses();

/// Analyses under one name, for a task that stands for several.
struct Suite {
  struct Part {
    std::string name, parameters;  ///< and the TOML text of the task that it is
  };
  std::string name, documentation;
  std::vector<Part> parts;
};

/// All suites there are.
const core::Registry<Suite>& suites();

/// The tables of `tasks`, each whose `analysis` is a suite replaced by one for each part, called NAME_part: it has the
/// keys of the coupling and what the table says in the sub-table of the part. Throws core::Error, with the place, for
/// other keys and for a name that is taken.
core::Node::Members with_parts(const core::Node& tasks);

/// The keys of a task's table that belong to the coupling, not to the analysis.
std::span<const std::string> task_keys();

}  // namespace sidestream::analysis
