#pragma once

#include <cstdint>
#include <deque>

#include "sidestream/couple/config.hpp"

namespace sidestream::couple {

/// Numbers of publishes, both ends included.
struct Range {
  std::int64_t first = 1, last = 0;

  bool is_empty() const { return last < first; }
  bool holds(std::int64_t number) const { return first <= number && number <= last; }
};

/// The books of publishes that wait to be received, first in, first out, in memory of a limited size. Knows nothing of
/// what carries them. A publish that is admitted is started, so that whoever receives it may do so, or is held back
/// until that is its turn: in memory while another might take its place, or stored elsewhere until there is room.
class Queue {
 public:
  Queue(std::int64_t capacity_bytes, const PolicyEntry& policy);

  enum class Answer : std::int64_t {
    started,
    held,
    stored,
    left_out,
    do_here,
    full,  // to be asked again
  };
  struct Verdict {
    Answer answer = Answer::full;
    Range withdrawn{};             // of those held, in favour of this one
    std::int64_t queue_bytes = 0;  // with this one
  };
  /// What becomes of a publish of the moment `step` that takes no more than the capacity. It gets the next number where
  /// it is started, held or stored. Publishes of one moment do not give way to each other, and are started together.
  Verdict admit(std::int64_t bytes, std::int64_t step);
  bool has_room(std::int64_t bytes) const { return bytes_ + bytes <= capacity_bytes_; }

  /// Starts what is held and may be started now. Returns the number of the last, 0 if there is none.
  std::int64_t start_next();
  /// Takes back what is held.
  Range withdraw_held();
  /// Everything up to `number` has left the memory, or is done altogether.
  void receive(std::int64_t number);
  void finish(std::int64_t number);

  std::int64_t sent() const { return number_; }
  /// Everything up to this one is done or was withdrawn.
  std::int64_t done() const { return entries_.empty() ? number_ : entries_.front().number - 1; }
  bool is_started(std::int64_t number) const;
  bool is_empty() const { return entries_.empty(); }

 private:
  enum class State { stored, held, started, received };
  struct Entry {
    std::int64_t number, bytes, step;
    State state;
  };

  // The first in a state, or the end.
  std::deque<Entry>::iterator first_in(State state);
  void add(State state, std::int64_t bytes, std::int64_t step);

  std::int64_t capacity_bytes_;
  const PolicyEntry* policy_;
  std::deque<Entry> entries_;
  std::int64_t bytes_ = 0, number_ = 0;
};

}  // namespace sidestream::couple
