#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/any_field.hpp"

namespace sidestream::redistribute {

/// How the cells travel. All strategies give bitwise the same field.
enum class Strategy {
  automatic,  ///< what the communicator says (`with_exchange`); else alltoallw on up to 64 ranks, p2p beyond
  tuned,      ///< the fastest of those below, as measured with the fields of the first use, or found in the wisdom file
  p2p,        ///< one packed message, in chunks, for each pair of ranks that share cells
  alltoallv,  ///< packed, one collective call among neighbors
  alltoallw,  ///< MPI derived datatypes in one collective call among neighbors, no packing
  rma,        ///< one-sided puts of small pieces; where MPI emulates them, `start` may wait for receivers to call MPI
  shared,     ///< ranks of one node: through a window of shared memory (in /dev/shm), no message; between nodes p2p
  pipelined,  ///< chunks through a few slots for each pair, so buffers are small; `finish` may wait for receivers too
};

class Exchange;
struct MoveTimes;
struct Tables;

struct StrategyEntry {
  std::string name, documentation;
  Strategy strategy;
  /// Makes the exchange of a plan; null for a strategy that chooses one of the others.
  std::unique_ptr<Exchange> (*make)(const comm::Communicator& comm, const Tables& tables);
};
/// All strategies there are.
const core::Registry<StrategyEntry>& strategies();
const StrategyEntry& entry_of(Strategy strategy);

/// What happens to the cells of the destination that the source covers.
enum class Combine { replace, add };

/// Which cells a plan moves.
struct Coverage {
  mesh::Ghosts source_ghost = 0;       ///< the source offers its boxes grown by so many cells
  mesh::Ghosts destination_ghost = 0;  ///< the destination takes its boxes grown by so many cells
  bool skip_own = false;               ///< not the cells that boxes of equal index share unshifted
  std::optional<mesh::Box> within{};   ///< of the cells of the destination, only those in here; empty: all
};

/// An immutable plan that moves fields from layout `from` to layout `to`, across periodic boundaries where ghost cells
/// reach over them. The owners of both layouts are ranks of `comm`; a rank may own boxes of one, both or none, so the
/// same plan serves one group of ranks and two disjoint ones. Built once (collective on `comm`), applied often (no
/// allocation of buffers after the first use of a type). Fields are views: whoever owns their memory, however strided.
/// With ghost cells both layouts have the same domain and periodicity. With `source_ghost` and Combine::replace,
/// sources that overlap must agree; which of them wins is not said.
class Redistribution {
 public:
  Redistribution(const comm::Communicator& comm, const mesh::Layout& from, const mesh::Layout& to,
                 Strategy strategy = Strategy::automatic, Coverage coverage = {});
  /// Strategies with a window (shared, rma) free it collectively, so there all ranks destroy the plan (unless an
  /// exception does).
  ~Redistribution();
  Redistribution(Redistribution&&) noexcept;
  Redistribution& operator=(Redistribution&&) noexcept;

  const mesh::Layout& source() const;
  const mesh::Layout& destination() const;
  /// How the cells travel; Strategy::tuned until the first use has chosen.
  Strategy strategy() const;

  /// Moves `from` (on `source()`) into `to` (on `destination()`), all components; elements of another type are
  /// converted on arrival (float, double; their complex twins; integers to wider ones and to double). Collective on the
  /// plan's communicator. Ghost cells of `to` that the plan does not cover are left as they were. Both fields have the
  /// ghost width that the coverage needs, or more. `from` and `to` may be the same field (ghost exchange) if only one
  /// side has ghost cells in the plan. A rank without boxes on one side may pass an empty field there. Combine::add
  /// adds the pieces of a cell in an order that owners do not change.
  void apply(const mesh::AnyField& from, const mesh::WritableField& to, Combine combine = Combine::replace) const {
    start(from, to, combine);
    finish(to, combine);
  }

  /// `apply` in two halves, so that work on other data overlaps the transfer: `start` packs and sends, copies what
  /// stays on the rank and does not wait for the receivers (but for those that have not yet taken the exchange before;
  /// the first use of a larger cell waits for the others where a strategy has a window, and that of a tuned plan tries
  /// the strategies, which takes some exchanges of all ranks); `finish` waits for what this rank receives. `from` must
  /// not change in between. One exchange of a plan may be under way at a time.
  void start(const mesh::AnyField& from, const mesh::WritableField& to, Combine combine = Combine::replace) const;
  void finish(const mesh::WritableField& to, Combine combine = Combine::replace) const;

  /// Takes what has arrived of the exchange under way (into `to` at once, for Combine::replace) and lets MPI progress;
  /// true when `finish` would not wait and the receivers have taken all that this rank sent, so that the next `start`
  /// would not wait either. Not collective.
  bool test() const;

  /// From now on the seconds of each use are added to `times`, which stays valid as long as the plan is used; null:
  /// nothing is measured, and that costs nothing. Local.
  void measure(MoveTimes* times);

  /// Bytes of a field of elements of `element_size_bytes` that this rank sends to others.
  std::size_t sent_bytes(std::size_t element_size_bytes) const;
  /// Bytes of this plan's tables on this rank.
  std::size_t size_bytes() const;

 private:
  friend void check(const Redistribution& plan);
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

/// Throws a core::Error on all ranks unless each pair of ranks means the same cells in the same order. Collective; for
/// tests (debug builds call it for every plan).
void check(const Redistribution& plan);

/// Ghost-cell exchange of fields on `layout` (periodic where it is): a redistribution of the layout onto itself.
class GhostFill {
 public:
  GhostFill(const comm::Communicator& comm, const mesh::Layout& layout, mesh::Ghosts ghost,
            Strategy strategy = Strategy::automatic);

  const mesh::Layout& layout() const { return fill_.source(); }

  /// Copies owned cells into the ghost cells of all blocks that overlap them. Collective.
  void fill(const mesh::WritableField& field) const { fill_.apply(field, field); }
  void start(const mesh::WritableField& field) const { fill_.start(field, field); }
  void finish(const mesh::WritableField& field) const { fill_.finish(field); }

 private:
  Redistribution fill_;
};

/// The reverse of a ghost fill: adds what was deposited in ghost cells to the cells that own them (integers: exact in
/// any order).
class GhostFold {
 public:
  GhostFold(const comm::Communicator& comm, const mesh::Layout& layout, std::int32_t ghost,
            Strategy strategy = Strategy::automatic);

  /// Collective. The ghost cells keep their values.
  void fold(const mesh::WritableField& field) const { fold_.apply(field, field, Combine::add); }

 private:
  Redistribution fold_;
};

}  // namespace sidestream::redistribute
