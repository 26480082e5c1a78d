#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/couple/trigger.hpp"

namespace sidestream::couple {

class Replay;

/// Decides at each moment of a run what is due of all that was added: tasks and files alike. The same on all ranks.
class Schedule {
 public:
  /// `group`, of the ranks that compute, and `bill` outlive it. `time_unit`: of `time` in expressions.
  Schedule(const comm::Communicator& group, core::Bill& bill, double time_unit);

  void add(const std::string& name, Trigger trigger);
  /// One that was added, to be changed on all ranks alike.
  Trigger& trigger(const std::string& name) { return entries_.at(name).trigger; }
  /// Has what the clock says be what it has said in another run.
  void replay(std::shared_ptr<const Replay> decisions) { replay_ = std::move(decisions); }

  /// Decides once a step, in order; asked again about a step it does nothing. Local and cheap where no trigger has a
  /// condition or goes by wall time; else collective, and then `snapshot` may be asked for the present state. Returns
  /// whether that was the first time.
  bool decide(Occasion occasion, const PresentState::SnapshotOf& snapshot);
  /// What was decided last. Nothing is due that was not added.
  bool is_due(const std::string& name) const;

  /// What was due then because the clock said so.
  std::vector<std::string> due_by_clock() const;

  /// What triggers remember, as text for a checkpoint, at the moment decided last; empty where none remembers
  /// anything.
  std::string memory() const;
  /// Goes on at `moment`, where nothing is due again, with the `memory` of the checkpoint, if any. What was not there
  /// then begins anew.
  void resume(const mesh::Moment& moment, const std::string& memory);

 private:
  struct Entry {
    Trigger trigger;
    bool is_due = false;
  };

  const comm::Communicator* group_;
  core::Bill* bill_;
  double time_unit_;
  std::map<std::string, Entry> entries_;
  std::shared_ptr<const Replay> replay_;
  std::optional<std::int64_t> decided_;  // the step
  double wall_s_ = 0.0;                  // then
};

}  // namespace sidestream::couple
