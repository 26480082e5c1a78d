#pragma once

#include <mutex>
#include <thread>

namespace sidestream::fft {

/// Whether a thread may call MPI while others do: any time, or one at a time, in turns.
class SerializedCalls {
 public:
  explicit SerializedCalls(bool one_at_a_time) : one_at_a_time_(one_at_a_time) {}

  bool are_taken() const { return one_at_a_time_; }

  /// Calls `work` when nobody else calls MPI. What may wait for other ranks is no such work.
  template <typename F>
  void take(F work) {
    const auto turn = one_at_a_time_ ? std::unique_lock(guard_) : std::unique_lock<std::mutex>();
    work();
  }
  /// The same, but nothing where somebody does.
  template <typename F>
  void take_if_free(F work) {
    const auto turn = one_at_a_time_ ? std::unique_lock(guard_, std::try_to_lock) : std::unique_lock<std::mutex>();
    if (!one_at_a_time_ || turn.owns_lock()) work();
  }
  /// Calls `is_done` turn by turn until it says so.
  template <typename F>
  void take_until(F is_done) {
    bool done = false;
    while (!done) {
      take([&] { done = is_done(); });
      if (!done) std::this_thread::yield();
    }
  }

 private:
  bool one_at_a_time_;
  std::mutex guard_;
};

}  // namespace sidestream::fft
