#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/sparse_exchange.hpp"

namespace sidestream::comm {

/// One round in which ranks send each other what the receivers know nothing of beforehand: the nonblocking consensus
/// (NBX) of Hoefler, Siebert & Lumsdaine (2010).
///
/// 1. Each message is sent synchronously: its sending ends only when its receiver takes it.
/// 2. Until the round is over, a rank takes whatever comes, from anywhere.
/// 3. When all it sent has arrived, it enters a consensus that ends when all ranks are in it: then everything has
///    arrived everywhere. The consensus is a sum, of the messages sent, so that nobody need ask who has sent any.
///
/// A rank that has left a round may send in the next one to ranks that are still in this one, but never in the one
/// after that, which takes their consensus: two tags, in turns, tell rounds apart.
class SparseRound {
 public:
  /// The next round on `comm`, whose messages go in pieces of at most `piece_bytes`.
  explicit SparseRound(MPI_Comm comm, std::size_t piece_bytes = std::size_t{1} << 30);

  /// Begins to send `bytes`, which stay there until `finish` returns; nothing where there are none. Local.
  void send(int to, std::span<const std::byte> bytes);
  /// Waits until all ranks have what was sent to them, and returns how many messages all ranks had. Collective.
  std::int64_t finish();
  /// What came: one parcel a rank, in the order of the ranks.
  std::vector<Parcel> take();

 private:
  bool has_taken_one();
  bool has_sent_all();

  MPI_Comm comm_;
  ExchangeTraffic& traffic_;
  int tag_, rank_ = 0, size_ = 0;
  std::size_t piece_bytes_;
  std::int64_t messages_ = 0;  // of this rank, those to itself too
  std::vector<Parcel> pieces_;
  std::vector<MPI_Request> sends_, receives_;
};

/// Of a communicator, which keeps it as long as it lives; duplicates begin anew.
ExchangeTraffic& traffic_of(MPI_Comm comm);

}  // namespace sidestream::comm
