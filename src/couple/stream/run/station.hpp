#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "couple/stream/run/block_server.hpp"
#include "couple/stream/run/broker.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// What of a rank talks with readers while the simulation goes on: a thread that gives them cells, on the first rank
/// with the books of who reads. It calls nothing of MPI.
class Station {
 public:
  /// `cores`: on which its thread runs; none: where the rank does. `refused` is told of keys that are not let in.
  /// Throws core::Error where the address cannot be had.
  Station(const std::string& block_address, const stream::Security& security, std::vector<int> cores,
          stream::Server::Refused refused);
  ~Station();
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  BlockServer& blocks() { return blocks_; }

  /// Has the thread talk with readers too: of the first rank, before `begin`. Returns the address that was bound.
  std::string open(const std::string& address, const stream::Security& security);
  /// From now on the thread works; `broker` is that of the first rank, null elsewhere, and outlives it.
  void begin(Broker* broker);
  /// There is something for readers.
  void wake() const { wake_up_.call(); }
  /// Tells readers that the run has ended, until all have left or `longest_s` are over, and ends the thread.
  void end(double longest_s);
  /// What ended the thread before its time, or "".
  std::string failure() const;

 private:
  void work();
  void say_farewell();

  stream::Server::Refused refused_;
  BlockServer blocks_;
  std::optional<stream::Server> control_;
  Broker* broker_ = nullptr;
  std::vector<int> cores_;
  stream::WakeUp wake_up_;
  std::atomic<bool> is_over_ = false;
  std::atomic<double> farewell_s_ = 0.0;
  mutable std::mutex mutex_;  // of what follows
  std::string failure_;
  std::thread thread_;
};

}  // namespace sidestream::couple
