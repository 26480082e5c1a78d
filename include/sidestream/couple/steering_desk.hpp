#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sidestream/core/registry.hpp"
#include "sidestream/couple/knob.hpp"
#include "sidestream/couple/region_edit.hpp"

namespace sidestream::couple {

struct Change;
struct SteeringStanding;

/// What may be asked of a run.
struct SteeringVerb {
  std::string name, documentation;
  bool changes_state = true;  ///< or the run only waits, or tells
};
/// All verbs there are.
const core::Registry<SteeringVerb>& steering_verbs();

/// Where those who steer a run and the run meet, on its first rank: a thread that serves a socket hands in requests,
/// the run takes the changes that are due. Every member may be called from any thread, and waits for nothing but a
/// lock.
///
/// A request is `{"kind": "steer", "verb": ..., "who": ..., "why": ...}`, with `key` where the connection has proved
/// it, and with some verbs `name`, `value`, `count`, `edit` (of `to_json(RegionEdit)`; without `cells` it is the whole
/// domain; with the number of an `array`, its box), `at` (a step that is still to be taken; without it, as soon as may
/// be). Arrays come before (`ArrayInbox`). The answer is `{"ok": true, ...}`: with `at` and `id` for a change, with
/// `knobs`, `editable`, `step`, `progress`, `state`, `waiting`, `done` for `list` and `status`; or `{"ok": false,
/// "message": ..., "where": ..., "hint": ...}`.
class SteeringDesk {
 public:
  SteeringDesk();
  ~SteeringDesk();

  /// Before it is opened, and is told how the run stands, all requests are refused.
  void open(std::vector<Knob> knobs, EditRules rules);

  /// Never throws for what a request holds. A value that is out of range, and a name that there is not, are refused
  /// here.
  nlohmann::json answer(const nlohmann::json& request);

  /// Tells how the run stands, after the step of `standing`.
  void tell(SteeringStanding standing);
  /// The changes that are due at `step`, in the order of their coming. What comes from now on is for later steps,
  /// unless the run is paused at this one.
  std::vector<Change> take(std::int64_t step, bool is_paused);
  /// What became of a change: "done", or why not.
  void conclude(const Change& change, const std::string& outcome);
  /// The run is over. Returns what was never due.
  std::vector<Change> close();

 private:
  nlohmann::json answer_to(const nlohmann::json& request);
  nlohmann::json overview() const;
  nlohmann::json listing() const;
  nlohmann::json enter(const nlohmann::json& request, const std::string& verb);
  const Knob& knob_named(const std::string& name) const;
  nlohmann::json value_for(const Knob& knob, const nlohmann::json& given) const;
  RegionEdit checked_edit(const nlohmann::json& request);
  RegionEdit checked_or_dropped(const nlohmann::json& request);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sidestream::couple
