#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "couple/in_transit/mailbox.hpp"
#include "couple/in_transit/shipment.hpp"
#include "couple/publish/block_messages.hpp"
#include "couple/publish/particle_cargo.hpp"
#include "couple/publish/protocol.hpp"
#include "couple/surroundings.hpp"

namespace sidestream::couple {

/// The sidecars' side of the in-transit transport: takes one publish at a time, first in, first out, and does its
/// analyses. What waits meanwhile stays with the ranks that compute, so a sidecar holds the data of one publish only.
class Sidecar {
 public:
  /// Collective on the sidecars.
  explicit Sidecar(Surroundings& around);

  /// Until the ranks that compute say that they are done. Collective on the sidecars.
  void serve();

 private:
  nlohmann::json next_command();
  nlohmann::json wait_for_command();
  void adopt(const nlohmann::json& levels);
  void take(const nlohmann::json& command);
  /// Returns how many bytes of all sidecars are read where the ranks that compute have written them.
  std::int64_t receive(const Announcement& announcement, mesh::Snapshot& into);
  Cargo cargo_for(const Announcement& announcement) const;
  void wait_for_data(Intake intake) const;
  void run_tasks(const Announcement& announcement, const mesh::Snapshot& snapshot, double transfer_s);
  FileOutcome write_file(const FileOrder& order, mesh::Snapshot state);
  void say_farewell();

  Surroundings& around_;
  const comm::Communicator& joint_;
  comm::Communicator group_;
  double timeout_s_;
  Mailbox mailbox_;
  std::vector<mesh::Layout> source_levels_, levels_;  // the same boxes: owned by the ranks that compute, and here
  Route route_;
  double idle_s_ = 0.0;  // since the last publish
  bool is_stopped_ = false;
};

}  // namespace sidestream::couple
