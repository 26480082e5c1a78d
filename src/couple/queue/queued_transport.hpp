#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couple/queue/channel.hpp"
#include "couple/queue/queue.hpp"
#include "couple/queue/spill_file.hpp"
#include "couple/surroundings.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/transport.hpp"

namespace sidestream::couple {

/// A transport whose publishes wait in a queue until somebody receives them, whatever the channel to them. The first
/// rank keeps the books of the queue and decides for all, so that a publish is sent by all ranks or by none.
class QueuedTransport : public Transport {
 public:
  /// `whom`: those who analyse, in words. Collective on the ranks that compute.
  QueuedTransport(Surroundings& around, std::string whom, std::unique_ptr<Channel> channel);

  Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) override;
  Carried publish_file(const mesh::Snapshot& state, FileOrder order) override;
  std::optional<FileOutcome> outcome_of(std::int64_t number) override { return channel_->outcome_of(number); }
  void progress() override;
  Standing standing() override;
  void settle(std::int64_t count) override;
  void finish(Drain drain) override;

 private:
  // A publish as it is prepared: of one or several tasks.
  struct Load {
    const mesh::Snapshot& snapshot;
    std::vector<ParticleLabel> particles;  // of the species that there are and somebody reads
  };
  struct Room {
    Queue::Verdict verdict{};
    std::int64_t received = 0, start = 0;
  };
  // What all ranks do together.
  struct Step {
    std::int64_t start = 0, analysed = 0, done = 0;
    bool is_enough = false, is_silent = false;
  };

  // What became of a publish that asked for room.
  struct Handed {
    Queue::Answer answer{};
    Books::Action action = Books::Action::dropped;
    Charge charge;
  };

  Orders publish_all(const mesh::Snapshot& snapshot, const Orders& orders);
  std::vector<ParticleLabel> labels_for(const Orders& orders, const mesh::Snapshot& snapshot) const;
  Announcement announcement_for(const Orders& orders, const Load& load) const;
  Orders publish_together(const Orders& orders, const Load& load);
  Handed hand_over(const Announcement& announcement, const Load& load, const std::string& whom);
  Orders beyond_the_queue(const Order& order, std::int64_t bytes, const mesh::Moment& moment);
  void tell_once(const std::string& about, const std::string& text);
  Queue::Verdict take_room(const std::string& first_task, std::int64_t bytes, std::int64_t step);
  Room decide(std::int64_t bytes, std::int64_t step);
  Books::Action send(Announcement announcement, const Load& load, Queue::Answer answer);
  bool store(Cargo& cargo, std::int64_t step);
  void withdraw(const Range& numbers);

  std::int64_t capacity() const { return static_cast<std::int64_t>(around_.config.queue_bytes); }
  bool is_first() const { return group_.rank() == 0; }
  // On the first rank.
  void listen();
  void start_held();
  core::Error too_silent(const std::string& what) const;
  template <typename F>
  Step next_step(F is_enough);
  // Goes on until `is_enough` holds on the first rank.
  template <typename F>
  void go_on_until(F is_enough, const std::string& what);
  template <typename F>
  void wait_and_move(F is_over);
  template <typename T>
  T broadcast(T value);

  Surroundings& around_;
  std::string whom_;
  comm::Communicator group_;  // on which nobody listens
  std::unique_ptr<Channel> channel_;
  std::shared_ptr<SpillFile> spill_;  // where the policy is to store
  bool could_store_ = true;

  std::vector<mesh::Layout> levels_;  // of the last publish
  Route route_;
  std::int64_t number_ = 0, settled_ = 0;  // publishes sent; known by all to be done
  // Those that may be withdrawn yet, for the books.
  struct Withdrawable {
    std::vector<std::size_t> tasks;
    mesh::Moment moment;
  };
  std::map<std::int64_t, Withdrawable> held_;

  // On the first rank only.
  Queue queue_;
  Heard heard_;
  std::int64_t started_ = 0;                                     // the last of those that were held
  std::map<std::int64_t, std::vector<std::size_t>> unanalysed_;  // the tasks of publishes
  core::Stopwatch silence_;
};

}  // namespace sidestream::couple
