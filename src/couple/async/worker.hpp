#pragma once

#include <vector>

#include "couple/async/desk.hpp"
#include "couple/surroundings.hpp"

namespace sidestream::couple {

/// What the thread of a rank needs that analyses: nothing of it is used by another thread but the desk, and the log.
class Worker {
 public:
  /// Collective on the ranks that compute, by the threads that compute.
  explicit Worker(const Surroundings& around);

  /// Does what is laid on the desk until that is closed.
  void work();

  Desk& desk() { return desk_; }
  /// The events of the threads: their analyses, and their bill.
  io::EventLog& log() { return log_; }
  /// Of the thread, once it has ended.
  core::Bill& bill() { return bill_; }

 private:
  std::optional<Job> next();
  void do_job(Job job);
  Found analyse(Job& job, const mesh::Snapshot& snapshot);

  std::vector<Task> tasks_;
  std::vector<int> cores_;
  int rank_;
  Desk desk_;
  io::EventLog log_;
  core::Bill bill_;
  TaskRunner runner_;
};

}  // namespace sidestream::couple
