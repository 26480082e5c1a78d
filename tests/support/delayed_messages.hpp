#pragma once

#include <cstdint>

namespace sidestream::test {

/// As long as one lives, what ranks send by `comm::deliver` and `Communicator::exchange` leaves late and is taken in
/// another order than it came in, as chance has it: a rank sleeps before it sends and before it agrees that a round is
/// over, asks one sender after another in an order of its own, and sometimes does not look at all.
class DelayedMessages {
 public:
  explicit DelayedMessages(std::uint64_t seed);
  ~DelayedMessages();
  DelayedMessages(const DelayedMessages&) = delete;
  DelayedMessages& operator=(const DelayedMessages&) = delete;

  /// The messages that were taken before one that a lower rank had sent. Local.
  static int overtakings();
};

}  // namespace sidestream::test
