#pragma once

#include <deque>
#include <exception>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "couple/in_transit/mailbox.hpp"
#include "couple/in_transit/shipment.hpp"
#include "couple/queue/channel.hpp"
#include "couple/surroundings.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::couple {

/// To the sidecars, by MPI: the end of the ranks that compute. The first ranks of both groups talk with each other, the
/// data go from each rank to those that take over its blocks.
class MpiChannel : public Channel {
 public:
  explicit MpiChannel(Surroundings& around);

  bool is_settled_together() const override { return false; }
  Route route_for(const std::vector<mesh::Layout>& levels) const override;
  void send(Publish publish, bool is_held) override;
  void start(std::int64_t number) override;
  void withdraw(const Range& numbers) override;

  bool is_time_to_progress() const override { return since_progress_.seconds() > rest_s_ && has_work(); }
  /// While data that are wanted flow, it takes as much as a tenth of the time between two calls. Says to the sidecars
  /// now and then that the simulation lives.
  void progress() override;
  void move() override;
  Heard hear() override;

  void release(std::int64_t number) override;
  void settle(std::int64_t) override {}  // the sidecars write
  std::optional<std::int64_t> first_unwritten() const override { return first_unwritten_; }
  std::optional<FileOutcome> outcome_of(std::int64_t number) override;
  void stop() override;
  void end() override;

 private:
  // A publish that is not announced yet.
  struct Unannounced {
    Announcement announcement;
    mesh::Snapshot head;
  };

  bool is_first() const { return group_.rank() == 0; }
  void announce(const Unannounced& publish);
  void command(const char* kind, nlohmann::json body);
  bool has_work() const;
  void drive();
  void take_over(const nlohmann::json& totals);

  Surroundings& around_;
  const comm::Communicator& joint_;
  comm::Communicator group_;
  Mailbox mailbox_;
  double timeout_s_;

  std::list<Shipment> shipments_;  // first in, first out
  core::Stopwatch since_progress_;
  double rest_s_ = 0.0;  // that the simulation has until it is disturbed again
  std::exception_ptr failure_;

  // On the first rank only.
  std::deque<Unannounced> unannounced_;
  std::int64_t may_start_ = 0, announced_ = 0;
  std::vector<mesh::Layout> levels_;  // as they were announced last
  Heard heard_;
  core::Stopwatch last_command_;
  std::optional<std::int64_t> first_unwritten_;
  std::map<std::int64_t, FileOutcome> outcomes_;  // that nobody has asked for yet
  std::optional<nlohmann::json> farewell_;
};

}  // namespace sidestream::couple
