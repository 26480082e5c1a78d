#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/replay.hpp"
#include "sidestream/couple/steering_desk.hpp"
#include "sidestream/io/event_log.hpp"

namespace sidestream::couple {

/// What those who steer a run, or the events of an earlier one, may do to it, on the ranks that compute. All members
/// but the accessors are collective on them.
class Steering {
 public:
  /// What a run does with a change that is not of a knob, on all ranks. Returns what the event adds. Throws core::Error
  /// on all ranks alike.
  struct Deeds {
    std::function<nlohmann::json(const RegionEdit&)> edit;
    std::function<nlohmann::json()> write_checkpoint;
  };

  /// `group` and `log` outlive it. `desk` may be null, `replay` too: without both, all members do nothing at all.
  Steering(const comm::Communicator& group, io::EventLog& log, std::shared_ptr<SteeringDesk> desk,
           std::shared_ptr<const Replay> replay);
  ~Steering();
  Steering(Steering&& other) noexcept;

  /// Opens the desk for these. Nothing of a run may be steered that is not in them.
  void open(std::vector<Knob> knobs, EditRules rules, Deeds deeds);

  /// Tells those who steer how the run stands, who are heard from the first time on. No communication.
  void tell(std::int64_t step, double progress);
  /// Agrees on the changes that are due after the step, which the first rank has taken up, makes them and logs each as
  /// the event `steering`, or `steering_refused` where it does not go with the state. One small broadcast, and none
  /// where nobody may steer.
  void at_step(std::int64_t step, double progress);
  /// Whether the run is to wait here, where `at_step` is asked again and again.
  bool is_paused(std::int64_t step) const { return pause_at_ && *pause_at_ <= step; }
  /// Whether somebody wants the run to end.
  bool is_stopped() const { return is_stopped_; }
  /// How many changes were made that a checkpoint holds: of knobs but the limits of a job, and of the state.
  std::int64_t changes() const { return changes_; }
  /// Does `work`, and has the hint of an error tell the last edit, which may be what the run cannot go on with.
  void blaming(const std::function<void()>& work) const;
  /// The run is over: what was never due is logged as the event `steering_left`.
  void close();

  /// The values that were set, by name, for a checkpoint; empty where none was.
  std::string memory() const;
  /// Goes on with what `memory` gave. Returns what it has set, in words. Throws core::Error on all ranks alike for what
  /// is damaged.
  std::vector<std::string> restore(const std::string& memory);
  /// The values that were set, as the configuration writes them.
  std::vector<std::pair<std::string, core::Node>> settings() const;

 private:
  std::vector<Change> agreed(std::int64_t step);
  void make(const Change& change, std::int64_t step);
  nlohmann::json done(const Change& change, std::int64_t step);
  nlohmann::json edit(const Change& change, std::int64_t step);
  nlohmann::json set(const Change& change);

  const comm::Communicator* group_;
  io::EventLog* log_;
  std::shared_ptr<SteeringDesk> desk_;
  std::shared_ptr<const Replay> replay_;
  std::vector<Knob> knobs_;
  Deeds deeds_;
  struct Values;
  std::unique_ptr<Values> values_;
  std::optional<std::int64_t> pause_at_, replayed_;
  bool is_stopped_ = false;
  std::int64_t changes_ = 0;
  std::string last_edit_;  // in words; empty: there was none
};

}  // namespace sidestream::couple
