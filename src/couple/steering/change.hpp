#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

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

/// How a run stands.
struct SteeringStanding {
  std::int64_t step = 0;
  double progress = 0.0;
  std::string state = "starting";                  ///< "running", "paused", "ended"
  std::map<std::string, nlohmann::json> values{};  ///< of knobs, by name
};

}  // namespace sidestream::couple
