#pragma once

#include <sys/types.h>

#include <string>

#include "couple/isolate/order.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

/// The program that starts jobs of several ranks, where there is one.
std::string job_launcher();

/// A job that does one task, seen from the run: its keeper, a child of this process, starts it and ends it in time.
class KeptJob {
 public:
  /// Starts it, on so many ranks. Throws core::Error where the system starts no process.
  KeptJob(const std::string& program, const io::RunFolder& folder, double deadline_s, int ranks, JobMemory memory);
  ~KeptJob();
  KeptJob(const KeptJob&) = delete;
  KeptJob& operator=(const KeptJob&) = delete;

  /// Whether it and all that it has started are gone. Local, never waits.
  bool has_ended();
  /// What it has told, as `do_job` does; empty where it was ended before.
  std::string answer() const { return memory_.answer(); }
  /// Whether its keeper ended it at its deadline.
  bool was_ended_late() const;
  /// Why there is no answer, in words.
  std::string problem() const;

 private:
  void listen();

  double deadline_s_;
  JobMemory memory_;
  pid_t keeper_ = -1;
  int ear_ = -1;  // what the keeper says
  std::string said_;
};

}  // namespace sidestream::couple
