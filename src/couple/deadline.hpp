#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace sidestream::couple {

/// Ends this process with a message if what goes on while this lives takes longer than it may.
class Deadline {
 public:
  Deadline(double seconds, std::string message);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable is_over_;
  bool is_done_ = false;
  std::thread watch_;
};

}  // namespace sidestream::couple
