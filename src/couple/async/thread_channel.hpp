#pragma once

#include <memory>
#include <set>
#include <thread>

#include "couple/async/worker.hpp"
#include "couple/queue/channel.hpp"
#include "couple/surroundings.hpp"

namespace sidestream::couple {

/// To a thread of the same rank: the end of the one that computes. Parallel HDF5 and PnetCDF may be called by one
/// thread of a process only, so this one writes what the other has found, when all ranks settle.
class ThreadChannel : public Channel {
 public:
  explicit ThreadChannel(Surroundings& around);
  ~ThreadChannel() override;

  bool is_settled_together() const override { return true; }
  Route route_for(const std::vector<mesh::Layout>& levels) const override;
  void send(Publish publish, bool is_held) override;
  void start(std::int64_t number) override { desk().start(number); }
  void withdraw(const Range& numbers) override { desk().withdraw(numbers); }

  void move() override;
  Heard hear() override;

  void release(std::int64_t) override {}  // the thread gives it back when it has done the job
  void settle(std::int64_t number) override;
  std::optional<std::int64_t> first_unwritten() const override { return first_unwritten_; }
  void stop() override;
  void end() override;

 private:
  Desk& desk() const { return worker_->desk(); }

  Surroundings& around_;
  comm::Communicator group_;
  std::shared_ptr<Worker> worker_;
  TaskRunner writer_;  // of what the threads have found
  std::thread thread_;
  std::set<std::size_t> looked_back_;  // tasks that have what they begin with
  Heard heard_;
  std::optional<std::int64_t> first_unwritten_;
};

}  // namespace sidestream::couple
