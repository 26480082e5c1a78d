#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/core/registry.hpp"
#include "sidestream/couple/array_inbox.hpp"
#include "sidestream/couple/knob.hpp"
#include "sidestream/couple/region_edit.hpp"

namespace sidestream::couple {

/// What somebody wants of a run, and when: after the step `at`, before the next.
struct Change {
  std::int64_t id = 0;  ///< of the desk's changes, from 1
  std::int64_t at = 0;
  std::string verb;
  std::string name{};      ///< of a knob, or the quantity of an edit
  nlohmann::json value{};  ///< of a knob, as `Knob::read` gives it; of an edit, as `to_json` does; steps of `step`
  std::string who{}, why{};
  std::string key{};     ///< the public key of who asked, which the connection has proved; empty where it has none
  bool is_soon = false;  ///< as soon as may be: nobody has named a step
};
/// How the names of knobs begin that a restart, another job, has of its own.
inline constexpr const char* limits_of_a_job = "run.";
nlohmann::json to_json(const Change& change);
/// Throws nlohmann::json::exception where it is none.
Change change_from(const nlohmann::json& json);

nlohmann::json to_json(const RegionEdit& edit);
/// Throws core::Error, and nlohmann::json::exception where it is none.
RegionEdit edit_from(const std::string& quantity, const nlohmann::json& json);

/// What may be asked of a run.
struct SteeringVerb {
  std::string name, documentation;
  bool changes_state = true;  ///< or the run only waits, or tells
};
/// All verbs there are.
const core::Registry<SteeringVerb>& steering_verbs();

/// How a run stands.
struct SteeringStanding {
  std::int64_t step = 0;
  double progress = 0.0;
  std::string state = "starting";                  ///< "running", "paused", "ended"
  std::map<std::string, nlohmann::json> values{};  ///< of knobs, by name
};

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

  mutable std::mutex mutex_;
  std::vector<Knob> knobs_;
  EditRules rules_;
  ArrayInbox arrays_;
  SteeringStanding standing_;
  std::int64_t first_free_ = 0;  // the earliest step that a change may be for
  std::int64_t last_id_ = 0;
  std::deque<Change> waiting_;
  std::vector<Change> under_way_;    // taken up, and not concluded: those who ask are told that they wait
  std::deque<nlohmann::json> done_;  // the last ones
};

}  // namespace sidestream::couple
