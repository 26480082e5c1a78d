#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "couple/publish/cargo.hpp"
#include "sidestream/comm/communicator.hpp"

// How a cargo moves: one message for each pair of ranks (of at most a GiB; a larger one is cut). To a rank that reaches
// this one's memory it is lent instead: what moves is a note of where it lies, unless the system gave no memory of that
// kind: then the data follow the note. The sender starts all
// of them at once and goes on; but where the publish may yet be withdrawn or is not in memory, each one when it is
// wanted. The receiver posts the receives of some at a time, so that what is larger than MPI's
// eager limit stays with its sender until then, and says to each of those senders that it is wanted now: where MPI
// moves data only when it is called, the sender then knows that calling it is worth the time.
namespace sidestream::couple {

/// The sender's side of one cargo.
class Shipment {
 public:
  /// `joint` and `pool` outlive the shipment. Starts to send unless the publish is held back.
  Shipment(const comm::Communicator& joint, std::int64_t number, Cargo cargo, BufferPool& pool, bool is_held);
  ~Shipment();
  Shipment(const Shipment&) = delete;

  std::int64_t number() const { return number_; }
  /// Lets the transfer go on. Local, never waits for the other side. Throws core::Error where the cargo was stored and
  /// cannot be read back.
  void progress();
  /// Whether a message is wanted and not gone, as `progress` found it.
  bool is_wanted() const { return wanted_ > 0; }
  bool is_done() const { return left_ == 0; }
  /// The memory, once it is done or withdrawn. What is lent has to be kept until it has been given back.
  std::vector<Buffer> release() && { return std::move(cargo_).release(); }

 private:
  // A message, which is over when it has gone and was wanted.
  struct Leg {
    std::size_t message = 0;  // of the cargo
    bool has_begun = false;
    comm::SharedMemory::Address note;
    std::vector<MPI_Request> sends;
    MPI_Request word = MPI_REQUEST_NULL;
  };

  void begin(Leg& leg);

  const comm::Communicator* joint_;
  std::int64_t number_;
  Cargo cargo_;
  BufferPool* pool_;
  std::vector<Leg> legs_;
  std::size_t left_ = 0, wanted_ = 0;  // legs
};

/// The receiver's side: takes the messages of `cargo` in their order, as many at a time as have `most_bytes` together
/// (one at least), into memory that they are given then. What is lent counts for nothing.
class Intake {
 public:
  /// References outlive the object.
  Intake(const comm::Communicator& joint, std::int64_t number, Cargo& cargo, std::int64_t most_bytes);

  /// Lets the transfer go on; returns whether something arrived. Local, never waits. Throws core::Error where lent
  /// memory cannot be had.
  bool progress();
  bool is_done() const { return under_way_.empty() && next_ == cargo_.messages().size(); }
  /// Of the messages that are asked for and have not arrived.
  std::int64_t bytes_under_way() const { return bytes_under_way_; }

 private:
  struct Arrival {
    std::size_t message = 0;  // of the cargo
    std::vector<MPI_Request> requests;
    std::int64_t bytes = 0;
    std::unique_ptr<comm::SharedMemory::Address> note;  // while it is under way
  };
  void ask_for_next();
  void ask_for_data(Arrival& arrival);
  // Returns whether that is all of the message.
  bool read(Arrival& arrival);

  const comm::Communicator& joint_;
  std::int64_t number_;
  Cargo& cargo_;
  BufferPool pool_;
  std::int64_t most_bytes_;
  std::size_t next_ = 0;
  std::vector<Arrival> under_way_;
  std::int64_t bytes_under_way_ = 0;
};

}  // namespace sidestream::couple
