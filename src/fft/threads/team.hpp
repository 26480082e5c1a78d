#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sidestream/core/under_way.hpp"

namespace sidestream::fft {

/// A thread that has work to share out, and those that help it: they sleep until there is some, and end with the team.
class Team {
 public:
  /// Of `size` threads, the one that calls `run` among them.
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  /// Calls `work(t)` for each t from 0 to `size() - 1` at once, each on a thread of its own and 0 on this one. Returns
  /// when all have returned; rethrows the first exception. Never allocates.
  template <typename F>
  void run(F work) {
    helpers_.empty() ? work(0) : run_job(std::ref(work));
  }

  /// Calls `work(t, n)` for each n from 0 to `count - 1` once, on whichever thread t is free.
  template <typename F>
  void share(int count, F work) {
    std::atomic<int> next{0};
    run([&](int thread) {
      for (int n = next++; n < count; n = next++) work(thread, n);
    });
  }

 private:
  void run_job(std::function<void(int)> job);
  void do_part(int thread);
  void help(int thread);

  std::mutex guard_;
  std::condition_variable there_is_work_, is_done_;
  std::function<void(int)> job_;
  std::uint64_t jobs_ = 0;
  int at_work_ = 0;
  bool ends_ = false;
  std::exception_ptr problem_;
  const core::UnderWay::Words* under_way_ = nullptr;  // what the thread that shares out is at
  std::vector<std::thread> helpers_;
};

}  // namespace sidestream::fft
