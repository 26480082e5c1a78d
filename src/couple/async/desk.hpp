#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "couple/queue/channel.hpp"
#include "couple/task_runner.hpp"

namespace sidestream::couple {

/// What is to be analysed on a rank.
struct Job {
  Publish publish;
  bool is_held = false;
  std::map<std::size_t, mesh::Result> earlier;  ///< by task: results with which those that look back begin
};

/// What the tasks of a publish have found.
struct Found {
  std::int64_t number = 0;
  std::vector<std::pair<std::size_t, Finding>> findings;  ///< with the task
};

/// Between two threads of a rank: the one that computes lays jobs down and takes up what was found, the one that
/// analyses does the opposite. First in, first out. No lock is held for longer than that takes.
class Desk {
 public:
  // The thread that computes.
  void put(Job job);
  /// What is held up to this number may be done.
  void start(std::int64_t number);
  void withdraw(const Range& numbers);
  /// The last job that was begun.
  std::int64_t begun() const;
  /// The last one before and with which nothing is left to do.
  std::int64_t done() const;
  /// What was found of the next publish, up to a number.
  std::optional<Found> take(std::int64_t number);
  /// Lets no further job begin. Returns the last one that was.
  std::int64_t pause();
  /// Lets jobs begin again but for those after `number`, which are returned.
  std::vector<Job> resume_until(std::int64_t number);
  /// No job begins any more.
  void close();
  /// Throws what ended the other thread, if anything did.
  void check() const;
  /// Memory that the jobs do not need any more.
  std::vector<Buffer> empty_buffers();

  // The thread that analyses.
  /// Waits for the next job; nothing when the desk is closed.
  std::optional<Job> next();
  /// With the memory that is free.
  void put(Found found, std::vector<Buffer> buffers);
  void fail(std::exception_ptr failure);

 private:
  mutable std::mutex mutex_;
  std::condition_variable there_is_a_job_;
  std::deque<Job> jobs_;
  std::deque<Found> found_;
  std::vector<Buffer> buffers_;
  std::int64_t put_ = 0, begun_ = 0, done_ = 0;
  bool is_busy_ = false, is_paused_ = false, is_closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace sidestream::couple
