#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "couple/in_transit/block_messages.hpp"
#include "couple/in_transit/mailbox.hpp"
#include "couple/in_transit/protocol.hpp"
#include "couple/in_transit/shipment.hpp"
#include "sidestream/comm/roles.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/session.hpp"

namespace sidestream::couple {

/// The compute group's side of the in-transit transport: the queue of publishes that the sidecars have not received
/// yet. Its first rank keeps the count of bytes and decides for all, so that a publish is sent by all ranks or by none.
class Outbox {
 public:
  /// `roles` outlives the outbox. Collective on the group that computes.
  Outbox(const comm::Roles& roles, const CouplingConfig& config);
  Outbox(Outbox&&) = delete;

  struct Room {
    bool is_granted = false;
    std::int64_t queue_bytes = 0;  ///< in the queue, with this publish if it is granted
    double wait_s = 0.0;
  };
  /// Takes room for `bytes` (of all ranks), waiting for it when the policy is to block. Collective. Throws core::Error
  /// on all ranks when that much would never fit or the sidecars were silent for too long.
  Room take_room(std::int64_t bytes);

  /// What all ranks tell of their particles; nothing where there are none. Collective. Throws core::Error on all ranks
  /// when they differ.
  std::optional<ParticleLabel> describe_particles(const mesh::Snapshot& snapshot) const;

  /// Copies the fields and the particles, and begins to send them; room was taken. Never waits for a sidecar.
  /// Collective. Throws core::Error on all ranks when a particle is not in a cell of its rank.
  void send(Announcement announcement, const mesh::Snapshot& snapshot);

  /// Whether `progress` has something to do and may take time for it. Local; next to nothing.
  bool is_time_to_progress() const { return since_progress_.seconds() > rest_s_ && has_work(); }
  /// Lets transfers go on, and says to the sidecars now and then that the simulation lives. While data that are wanted
  /// flow, it takes as much as a tenth of the time between two calls. Local, never waits.
  void progress();

  /// How many publishes were sent, and how many of them the sidecars have done (on the first rank).
  std::int64_t sent() const { return number_; }
  std::int64_t done();
  /// Whether each result of the first `count` publishes could be written, as far as they are done (on the first rank).
  bool are_written(std::int64_t count) const { return !first_unwritten_ || *first_unwritten_ > count; }
  /// Since they were heard of; on the first rank.
  double silence_s() const { return silence_.seconds(); }
  /// Waits until the sidecars have done the first `count`. Collective. Throws core::Error on all ranks when they were
  /// silent for too long.
  void wait_for_done(std::int64_t count);

  /// Ends the sidecars. Collective. Returns their message of farewell on rank 0.
  nlohmann::json end(Drain drain);

 private:
  struct Entry {
    std::int64_t number, bytes;
  };
  enum class Answer : std::int64_t { granted, full, silent };
  struct Verdict {
    Answer answer = Answer::granted;
    std::int64_t received = 0, queue_bytes = 0;
  };

  Verdict decide(std::int64_t bytes);
  bool has_room(std::int64_t bytes);
  Verdict broadcast(Verdict verdict);
  void read_replies();
  void command(const char* kind, nlohmann::json body);
  void announce(const std::vector<mesh::Layout>& levels);
  bool has_work() const;
  void move();
  template <typename F>
  bool wait_and_move(F is_over, double timeout_s);
  void wait_until_gone(std::int64_t number);

  const comm::Roles* roles_;
  comm::Communicator joint_, group_;
  Mailbox mailbox_;
  std::int64_t capacity_bytes_;
  WhenFull when_full_;
  double timeout_s_;

  std::vector<mesh::Layout> levels_;  // as they were announced last
  Route route_;
  BufferPool pool_;
  std::list<Shipment> shipments_;  // first in, first out
  std::int64_t number_ = 0;
  core::Stopwatch since_progress_;
  double rest_s_ = 0.0;  // that the simulation has until it is disturbed again

  // On the first rank only.
  std::deque<Entry> queue_;
  std::int64_t queue_bytes_ = 0, received_ = 0, done_ = 0;
  core::Stopwatch silence_, last_command_;
  std::optional<std::int64_t> first_unwritten_;  // the number of the publish
  std::optional<nlohmann::json> farewell_;
};

}  // namespace sidestream::couple
