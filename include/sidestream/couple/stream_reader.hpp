#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/compression.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// What a reader of a stream is given of each step. Only what somebody demands is computed and sent.
struct Demand {
  /// Names of quantities; one that ends in '?' is given if the run has it, "*" stands for all.
  std::vector<std::string> quantities;
  /// Names of species of particles; "" is the first one, "*" stands for all.
  std::vector<std::string> species{};
  std::optional<mesh::Box> region{};  ///< cells of level 0: blocks that meet it are given
  std::optional<int> finest_level{};  ///< what is refined further is given as averages there
  bool single_precision = false;      ///< cells travel as floats
};

/// How the cells come from the ranks of a run to those of a reader.
enum class Technique {
  automatic,     ///< the faster of the two, measured over the first steps
  bounding_box,  ///< each reader asks every rank of the run for the part of its cells that it needs
  write_block,   ///< each takes whole blocks of its share of the ranks; then readers redistribute them among themselves
};
struct TechniqueEntry {
  std::string name, documentation;
  Technique technique;
};
/// All techniques there are.
const core::Registry<TechniqueEntry>& techniques();

/// How readers lay out the cells among themselves.
struct ReaderLayoutEntry {
  std::string name, documentation;
  /// The pieces along x, y and z into which the region is cut, for so many readers; none: blocks stay whole.
  std::function<mesh::Int3(int readers, const mesh::Box& region)> pieces;
};
/// All layouts there are; the first one keeps the blocks of the run, so that results are those of the run to the bit.
const core::Registry<ReaderLayoutEntry>& reader_layouts();

struct ReaderOptions {
  std::string task;  ///< of the run, at whose moments steps come; empty: the only one there is
  Demand demand;
  Technique technique = Technique::automatic;
  core::Compression compression{};  ///< how cells travel; relative bounds are refused: nobody knows the whole
  const ReaderLayoutEntry* layout = &reader_layouts().front();
  /// Each step is given again until it is acknowledged, by whichever reader of this name; empty: steps that are lost
  /// with a reader are lost.
  std::string once_as{};
  bool does_task = false;   ///< what it acknowledges are results of the task, which the run counts
  std::string keys{};       ///< the folder of keys, for a run that asks who reads it
  int gateways = 0;         ///< ranks that talk with the run, and give the others their cells; 0: all
  double timeout_s = 30.0;  ///< longest silence of the run
  double patience_s = 0.0;  ///< how long to look for the run again after that, or for one that is not there yet
};

/// What a reader has had so far; of one rank.
struct ReaderCounts {
  std::int64_t steps = 0, dropped = 0;            ///< given; left out by the run for want of room
  std::int64_t bytes = 0, messages = 0;           ///< that came to this rank
  std::int64_t connections = 0;                   ///< of this rank to ranks of the run
  double transfer_s = 0.0, redistribute_s = 0.0;  ///< of the last step
  std::string technique;                          ///< of the last step
};

/// A run seen from another job: its snapshots, one after the other, as they are published. All members are collective
/// on the communicator.
///
///     couple::StreamReader reader(world, "runs/demo", {.demand = {.quantities = {"density"}}});
///     while (const auto snapshot = reader.next()) ...
class StreamReader {
 public:
  /// Attaches to the run in the folder `where`, or at an address: `tcp://HOST:PORT`, with the public key of the run
  /// after a `#` where it has one. `comm` outlives it. Throws core::Error on all ranks: no run, a task or quantity that
  /// it does not have, a key it does not know.
  StreamReader(const comm::Communicator& comm, const std::string& where, ReaderOptions options);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  /// The next step; the one before is acknowledged. Nothing when the run has ended, and says no more. Waits as long as
  /// the run lives. Throws core::Error on all ranks when it is silent for too long, or has dropped this reader. The
  /// fields live as long as the snapshot.
  std::optional<mesh::Snapshot> next();
  /// Whether a step is there that `next` would give at once. Local on the first rank, false elsewhere.
  bool has_next() const;
  /// The last step is done with: its result has its final name.
  void acknowledge();

  /// The configuration of the run, as TOML.
  const std::string& configuration() const;
  /// By which the steps of a run are told from those of another, a restart included.
  const std::string& run() const;
  /// The task at whose moments steps come.
  const std::string& task() const;
  /// Why there is no next step.
  const std::string& ending() const;
  /// Steps that this reader should have been given and that are lost.
  const std::vector<std::int64_t>& lost() const;
  const ReaderCounts& counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sidestream::couple
