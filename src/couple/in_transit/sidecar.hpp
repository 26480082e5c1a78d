#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "couple/in_transit/block_messages.hpp"
#include "couple/in_transit/mailbox.hpp"
#include "couple/in_transit/particle_cargo.hpp"
#include "couple/in_transit/protocol.hpp"
#include "couple/in_transit/shipment.hpp"
#include "couple/task_runner.hpp"
#include "sidestream/comm/roles.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/session.hpp"

namespace sidestream::couple {

/// The sidecars' side of the in-transit transport: takes one publish at a time, first in, first out, and does its
/// analyses. What waits meanwhile stays with the ranks that compute, so a sidecar holds the data of one publish only.
class Sidecar {
 public:
  /// All references outlive the sidecar. Collective on the sidecars.
  Sidecar(const comm::Roles& roles, CouplingConfig& config, TaskRunner& runner, io::EventLog& log, core::Bill& bill,
          std::vector<TaskTotals>& totals);

  /// Until the ranks that compute say that they are done. Collective on the sidecars.
  void serve();

 private:
  nlohmann::json next_command();
  nlohmann::json wait_for_command();
  void adopt(const nlohmann::json& levels);
  void take(const nlohmann::json& command);
  struct Received {
    mesh::Snapshot snapshot;
    mesh::Particles particles;  // to which the snapshot points
  };
  void receive(const Announcement& announcement, Received& into);
  Cargo room_for(const Announcement& announcement) const;
  void wait_for_data(Intake intake) const;
  void leave_out(const Announcement& announcement, const mesh::Snapshot& snapshot);
  void run_tasks(const Announcement& announcement, const mesh::Snapshot& snapshot, double transfer_s);
  void say_farewell();

  const comm::Roles* roles_;
  CouplingConfig* config_;
  TaskRunner* runner_;
  io::EventLog* log_;
  core::Bill* bill_;
  std::vector<TaskTotals>* totals_;
  comm::Communicator joint_, group_;
  Mailbox mailbox_;
  std::vector<mesh::Layout> source_levels_, levels_;  // the same boxes: owned by the ranks that compute, and here
  Route route_;
  double idle_s_ = 0.0;  // since the last publish
  bool is_stopped_ = false;
};

}  // namespace sidestream::couple
