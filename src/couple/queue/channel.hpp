#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "couple/publish/announcement.hpp"
#include "couple/publish/block_messages.hpp"
#include "couple/publish/cargo.hpp"
#include "couple/queue/queue.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// A publish of one rank: all that those who analyse need.
struct Publish {
  Announcement announcement;
  mesh::Snapshot head;  ///< moment, geometry and levels, as the ranks that compute hold them; no fields, no particles
  Cargo cargo;
};

/// What was heard of those who analyse, on the first rank.
struct Heard {
  std::int64_t received = 0;  ///< up to this publish its data have left the queue
  std::int64_t analysed = 0;  ///< up to this publish there is nothing left to do for them
  bool is_new = false;        ///< something has come since it was asked last
};

/// The way from the ranks that compute to those who analyse, wherever they are: small messages and bulk data, in order.
/// What says nothing else is called by all ranks that compute together, is local and does not wait.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Whether what was analysed has to be settled by all ranks together, and what is started too; else the first rank
  /// alone does that for all.
  virtual bool is_settled_together() const = 0;

  /// Which cells of `levels` go where.
  virtual Route route_for(const std::vector<mesh::Layout>& levels) const = 0;
  /// Takes over a publish. One that is held does not go before it is started; in the meantime it may be withdrawn.
  /// Communicates.
  virtual void send(Publish publish, bool is_held) = 0;
  /// Starts what is held up to a number. Communicates where that is settled together.
  virtual void start(std::int64_t number) = 0;
  virtual void withdraw(const Range& numbers) = 0;

  /// Whether `progress` has something to do and may take time for it; next to nothing. Each rank by itself, as both
  /// that follow.
  virtual bool is_time_to_progress() const { return false; }
  virtual void progress() {}
  /// Lets what is under way go on, with no regard to time. May throw.
  virtual void move() = 0;
  virtual Heard hear() = 0;

  /// Frees the memory of what was received, up to a number, after waiting for the last of it to go.
  virtual void release(std::int64_t number) = 0;
  /// Writes down what was analysed, up to a number. Communicates.
  virtual void settle(std::int64_t number) = 0;
  /// Of what is settled, the number of the first publish of which a result could not be written.
  virtual std::optional<std::int64_t> first_unwritten() const = 0;

  /// What became of the file of a publish, once, where those who analyse write files.
  virtual std::optional<FileOutcome> outcome_of(std::int64_t /*number*/) { return std::nullopt; }

  /// Has those who analyse leave out, and count, whatever they have not begun. Communicates.
  virtual void stop() = 0;
  /// Ends them when all is done, and takes over their books. Communicates, and waits.
  virtual void end() = 0;

  /// Memory for what is to be sent, given back when it has gone.
  BufferPool& pool() { return pool_; }

 private:
  BufferPool pool_;
};

}  // namespace sidestream::couple
