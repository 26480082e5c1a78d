#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "couple/in_transit/cargo.hpp"
#include "sidestream/comm/communicator.hpp"

// How a cargo moves: one message for each pair of ranks (of at most a GiB; a larger one is cut). The sender starts all
// of them at once and goes on. The receiver posts the receives of some at a time, so that what is larger than MPI's
// eager limit stays with its sender until then, and says to each of those senders that it is wanted now: where MPI
// moves data only when it is called, the sender then knows that calling it is worth the time.
namespace sidestream::couple {

/// The sender's side of one cargo.
class Shipment {
 public:
  /// Starts to send; `joint` outlives the shipment.
  Shipment(const comm::Communicator& joint, std::int64_t number, Cargo cargo);
  ~Shipment();
  Shipment(const Shipment&) = delete;

  std::int64_t number() const { return number_; }
  /// Lets the transfer go on. Local, never waits.
  void progress();
  /// Whether a message is wanted and not gone, as `progress` found it.
  bool is_wanted() const { return wanted_ > 0; }
  bool is_done() const { return left_ == 0; }
  /// The memory, once it is done.
  BufferPool::Buffer release() && { return std::move(cargo_).release(); }

 private:
  // A message, which is over when it has gone and was wanted.
  struct Leg {
    std::vector<MPI_Request> sends;
    MPI_Request word = MPI_REQUEST_NULL;
  };

  std::int64_t number_;
  Cargo cargo_;
  std::vector<Leg> legs_;
  std::size_t left_ = 0, wanted_ = 0;  // legs
};

/// The receiver's side: takes the messages of `cargo` in their order, as many at a time as have `most_bytes` together
/// (one at least).
class Intake {
 public:
  /// References outlive the object.
  Intake(const comm::Communicator& joint, const Cargo& cargo, std::int64_t most_bytes);

  /// Lets the transfer go on; returns whether something arrived. Local, never waits.
  bool progress();
  bool is_done() const { return under_way_.empty() && next_ == messages_.size(); }
  /// Of the messages that are asked for and have not arrived.
  std::int64_t bytes_under_way() const { return bytes_under_way_; }

 private:
  struct Arrival {
    std::vector<MPI_Request> requests;
    std::int64_t bytes = 0;
  };
  void ask_for_next();

  const comm::Communicator& joint_;
  std::vector<Cargo::Message> messages_;  // those that are not empty
  std::int64_t most_bytes_;
  std::size_t next_ = 0;
  std::vector<Arrival> under_way_;
  std::int64_t bytes_under_way_ = 0;
};

}  // namespace sidestream::couple
