#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "redistribute/planner.hpp"
#include "redistribute/rows.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/redistribute/move_times.hpp"

namespace sidestream::redistribute {

inline constexpr std::size_t line_bytes = 64;  ///< of a cache

/// What becomes of the cells of the destination.
enum class Arrival { copied, converted, added };

/// The fields of one exchange, without their type. Cells travel as the source has them.
struct Job {
  Blocks<const std::byte> from;
  Blocks<std::byte> to;
  int components = 0;
  Arrival arrival = Arrival::copied;
  RowKernel kernel = nullptr;  ///< that converts or adds; null: copy
  MoveTimes* times = nullptr;  ///< to which seconds are added; null: nothing is measured

  std::size_t element_bytes() const { return from.element_bytes; }
  std::size_t cell_bytes() const { return element_bytes() * static_cast<std::size_t>(components); }
  bool adds() const { return arrival == Arrival::added; }

  // While what they return lives, time counts as that.
  Timed<> timed_pack() const { return Timed<>(times ? &times->pack_s : nullptr); }
  Timed<> timed_unpack() const { return Timed<>(times ? &times->unpack_s : nullptr); }
  /// But for what is packed and unpacked meanwhile.
  auto timed_exchange() const {
    return Timed(times ? &times->exchange_s : nullptr, [of = times] { return of->copies_s(); });
  }
};

/// A strategy at work: brings the pieces from rank to rank. The pieces of a rank to itself are not its business, except
/// that `combine_all` adds them together with the others.
class Exchange {
 public:
  /// Only when nothing is under way any more.
  virtual ~Exchange() = default;

  /// Sends without waiting for the receivers. `job` stays valid until `finish` has returned.
  virtual void start(const Job& job) = 0;
  /// Takes what has arrived; true when `finish` would not wait.
  virtual bool test() = 0;
  virtual void finish() = 0;
};

/// The strategies. Collective on `comm`, which, like `tables`, outlives the exchange.
std::unique_ptr<Exchange> make_p2p(const comm::Communicator& comm, const Tables& tables);
std::unique_ptr<Exchange> make_alltoallw(const comm::Communicator& comm, const Tables& tables);
std::unique_ptr<Exchange> make_shared(const comm::Communicator& comm, const Tables& tables);
std::unique_ptr<Exchange> make_alltoallv(const comm::Communicator& comm, const Tables& tables);
std::unique_ptr<Exchange> make_rma(const comm::Communicator& comm, const Tables& tables);
std::unique_ptr<Exchange> make_pipelined(const comm::Communicator& comm, const Tables& tables);

/// What is thrown where MPI refuses what a strategy needs.
core::Error refused(const std::string& strategy, const core::Error& refusal);

/// A run of rows of one message, the unit that is packed, sent and unpacked.
struct Chunk {
  std::size_t message = 0;  ///< index of the message
  std::size_t piece = 0;    ///< the first piece, and the first row of it
  std::int64_t row = 0;
  std::size_t offset = 0, size_bytes = 0;  ///< in a buffer of all messages
};

/// Which peers a part of a strategy serves.
using PeerFilter = std::function<bool(int peer)>;

/// The messages with the peers that a filter names, cut into chunks (whole rows) for one size of cell. Both ranks of a
/// message cut it alike. Each message starts at a multiple of 64 bytes.
struct Cut {
  int components = 0;
  std::size_t element_bytes = 0;
  std::vector<Chunk> outgoing, incoming;
};

/// Cuts that were made once, by size of cell.
class Cuts {
 public:
  Cuts(const Tables& tables, PeerFilter serves, std::size_t target_bytes)
      : tables_(tables), serves_(std::move(serves)), target_bytes_(target_bytes) {}
  /// Valid as long as this object.
  const Cut& for_job(const Job& job);

 private:
  std::vector<Chunk> chunks_of(const Traffic& traffic, const Job& job) const;

  const Tables& tables_;
  PeerFilter serves_;
  std::size_t target_bytes_;
  std::vector<std::unique_ptr<Cut>> cuts_;
};

/// Bytes of a buffer for all chunks.
std::size_t buffer_bytes(std::span<const Chunk> chunks);

/// The chunks [first, last) of one message.
struct ChunkRange {
  std::size_t first = 0, last = 0;
  std::size_t size() const { return last - first; }
};
ChunkRange chunks_of_message(std::span<const Chunk> chunks, std::size_t message);

/// The bytes of a chunk as MPI counts them; throws where a single row holds more than 2 GiB.
int mpi_count(const Chunk& chunk);

/// Copies the cells of an outgoing chunk from the source field to `buffer`, of an incoming one from `buffer` to the
/// destination.
void pack(const Tables& tables, const Job& job, const Chunk& chunk, std::byte* buffer);
void unpack(const Tables& tables, const Job& job, const Chunk& chunk, const std::byte* buffer);

/// Copies the cells of all outgoing messages to `buffer`, one after the other.
void pack_all(const Tables& tables, const Job& job, std::byte* buffer);

/// Copies the pieces of this rank to itself, fastest when they are ordered for copies.
void copy_local(const Tables& tables, const Job& job);

/// Brings the pieces in `payloads` (one for each incoming message) to the destination.
void unpack_all(const Tables& tables, const Job& job, std::span<const std::byte* const> payloads);

/// For Combine::add: adds all pieces, local ones (which are ordered for sums) and those in `payloads` (one for each
/// incoming message), to the destination in the order of (destination, source, shift), so that the sum does not depend
/// on who owned the source.
void combine_all(const Tables& tables, const Job& job, std::span<const std::byte* const> payloads);

}  // namespace sidestream::redistribute
