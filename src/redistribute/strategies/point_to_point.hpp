#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "redistribute/exchange.hpp"
#include "sidestream/core/memory.hpp"

namespace sidestream::redistribute {

/// Packed messages with the peers that a filter names. Buffers and lists stay from one exchange to the next.
class PointToPoint {
 public:
  PointToPoint(const comm::Communicator& comm, const Tables& tables, PeerFilter serves);
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;

  /// Packs and sends. Waits only for receivers that have not yet taken the exchange before.
  void start(const Job& job);
  /// Unpacks what has arrived (not for Combine::add); true when all has.
  bool progress();
  /// Returns when all has arrived and been unpacked.
  void wait();
  /// True when the receivers have taken everything.
  bool is_sent();
  /// Where the messages lie that arrived, by index of the message; those with other peers are left alone.
  void locate(std::span<const std::byte*> payloads) const;

 private:
  void take(int arrived);

  const comm::Communicator& comm_;
  const Tables& tables_;
  Cuts cuts_;
  const Cut* cut_ = nullptr;
  const Job* job_ = nullptr;
  core::Bytes send_buffer_, receive_buffer_;
  std::size_t send_capacity_ = 0, receive_capacity_ = 0;
  std::vector<MPI_Request> sends_, receives_;
  std::vector<int> arrived_;
  std::size_t missing_ = 0;  // chunks that have not arrived
};

}  // namespace sidestream::redistribute
