#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/knob.hpp"
#include "sidestream/couple/region_edit.hpp"
#include "sidestream/couple/trigger.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/io/snapshot_file.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::sims {

/// A simulation under way on the ranks that compute. All members but the plain accessors are collective on them.
class Simulation {
 public:
  virtual ~Simulation() = default;

  /// The state before the first step: made from initial conditions, or taken from one that was opened, on the blocks of
  /// `blocks_for`, from a file of any format, number of ranks and size of blocks. A checkpoint of this simulation
  /// gives back every bit (with the same blocks); any other state that has what the simulation advances is taken in the
  /// precision of its file. Throws core::Error on all ranks when a file is damaged or lacks something.
  virtual void initialize() = 0;
  virtual void restore(const mesh::Snapshot& state) = 0;
  /// The blocks on which it goes on from the state in a file, of which nothing is read. Local. Throws core::Error where
  /// the file has other cells or more levels than the simulation.
  virtual mesh::LevelLayouts blocks_for(const mesh::Snapshot& file) const = 0;

  /// Told before a step after which somebody will ask for these quantities: what the step has at hand of them may be
  /// kept. A snapshot has the same bits without it. Local.
  virtual void foresee([[maybe_unused]] const std::vector<std::string>& quantities) {}
  /// One step, ending exactly on the next of the moments that outputs and tasks ask for when that is near; none if it
  /// finds that it cannot go on (`stop_reason`). Throws core::Error on all ranks where a number of the state is not
  /// finite, or the time would not go on.
  virtual void advance() = 0;
  /// The same of the present state, by a pass through all of it. `initialize` and `restore` have done so.
  virtual void check_state() const = 0;

  /// Its attributes need not be all of a snapshot's.
  virtual mesh::Moment moment() const = 0;
  /// From 0 at the start to 1 at the end.
  virtual double progress() const = 0;
  bool is_complete() const { return progress() >= 1.0; }
  /// Why the run cannot go on although it is not complete, in a sentence; empty while it can. The same on all ranks.
  virtual std::string stop_reason() const { return {}; }
  /// What the user should know of the state that was not told before: no errors, and the run goes on. Asked for after
  /// the start and after each step; the same on all ranks.
  virtual std::vector<core::Error> warnings() { return {}; }
  /// What the event of a step tells: time, time step and what limited it.
  virtual nlohmann::json status() const = 0;
  /// What the last event of a run adds: conservation, errors against exact solutions, work done.
  virtual nlohmann::json summary() const = 0;

  /// What may be changed between two steps, of its own options; the knobs live as long as the simulation, and may be
  /// set before there is a state.
  virtual std::vector<couple::Knob> knobs() { return {}; }
  /// What may be edited in a part of the domain, and that: the same bits on any ranks. Returns what the event tells of
  /// the change, such as what it added to conserved sums. Throws core::Error on all ranks, and then changes nothing.
  virtual std::vector<couple::EditableQuantity> editable() const { return {}; }
  virtual nlohmann::json edit(const couple::RegionEdit& edit);

  /// The present state, with all quantities of the plan's table: for analyses, plot files and checkpoints; valid until
  /// the next step.
  virtual mesh::Snapshot snapshot() = 0;
};

/// A simulation's configuration, read and checked, before anything is allocated. Needs no MPI.
class SimulationPlan {
 public:
  virtual ~SimulationPlan() = default;

  virtual mesh::Int3 cells() const = 0;
  /// Expected memory of the simulation proper, over all ranks.
  virtual double memory_bytes() const = 0;
  /// What it takes of that from the start, whatever becomes of it.
  virtual double least_memory_bytes() const { return 0.0; }
  /// The blocks that ranks share: more ranks than these have no cells. 0: refinement makes more, or it is dealt
  /// otherwise.
  virtual double blocks() const { return 0.0; }
  /// The species of particles that its snapshots have in the cells of a grid; that of its state has no name.
  virtual std::vector<couple::ExpectedSpecies> species([[maybe_unused]] const std::string& grid) const { return {}; }
  /// Of the numbers of its state, and so of its checkpoints unless they are told otherwise.
  virtual io::Precision precision() const { return io::Precision::double_precision; }
  /// Whether the blocks of its state are all as large, as some formats want them.
  virtual bool has_equal_blocks() const { return true; }
  /// What its times are.
  virtual couple::TimeKeeping times() const = 0;
  /// All quantities of its snapshots.
  virtual std::vector<mesh::Quantity> quantities() const = 0;
  /// The other grids of its snapshots, by name.
  virtual mesh::Grids other_grids() const { return {}; }
  /// What the first event of a run tells of it: cells, block, box, first and last redshift.
  virtual nlohmann::json description() const = 0;

  /// What defines the run, in words by key: where it began, and what its steps depend on beyond their state and the
  /// accuracy of solving them. A checkpoint keeps it, and a run that goes on from it has the same.
  virtual std::map<std::string, std::string> physics() const { return {}; }
  /// What of that a run which begins with the state in `file` takes from there, as `file` has it.
  virtual std::map<std::string, std::string> physics_of_start([[maybe_unused]] const io::FileDescription& file) const {
    return {};
  }

  /// Throws core::Error when a file that the simulation begins with is missing, damaged or does not fit, as far as its
  /// header shows or, with `reads_all`, all of it. A run that goes on from a checkpoint does without it.
  virtual void check_start([[maybe_unused]] bool reads_all) const {}

  /// Collective on `compute`, which outlives the simulation, as `bill` does, on which it books the parts of its steps.
  virtual std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings& landings,
                                           core::Bill& bill) const = 0;
};

/// A simulation by name.
struct SimulationEntry {
  std::string name, documentation;
  std::vector<std::string> tables;  ///< names of the tables it reads
  /// Reads its tables of the configuration `root`; stores them with defaults filled in in `resolved`. Throws
  /// core::Error.
  std::function<std::unique_ptr<SimulationPlan>(const core::Node& root, core::Node& resolved)> read;
  /// The options of each of its tables, for the reference.
  std::function<std::map<std::string, std::vector<core::Option>>()> options;
  /// The quantities of its snapshots with the default options, for the reference.
  std::function<std::vector<mesh::Quantity>()> quantities;
};

/// All simulations there are.
const core::Registry<SimulationEntry>& simulations();

}  // namespace sidestream::sims
