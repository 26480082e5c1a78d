#include "sidestream/couple/steering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "couple/steering/change.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/machine.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr const char* done_in_words = "done";

std::string as_text(const std::vector<Change>& changes) {
  if (changes.empty()) return "";
  json all = json::array();
  for (const Change& change : changes) all.push_back(to_json(change));
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

// What, when and by whom.
std::string in_words(const Change& edit, std::int64_t step) {
  const auto array = edit.value.find("array");
  return fmt::format("`{}` was edited after step {} by {}: {} {}{}", edit.name, step,
                     edit.who.empty() ? "somebody" : edit.who, edit.value.value("operation", ""),
                     array != edit.value.end() ? array->value("name", "") : edit.value.value("value", json()).dump(),
                     edit.why.empty() ? "" : fmt::format(", \"{}\"", edit.why));
}

const Knob* find(const std::vector<Knob>& knobs, const std::string& name) {
  const auto found = std::ranges::find_if(knobs, [&](const Knob& knob) { return knob.option.name == name; });
  return found == knobs.end() ? nullptr : &*found;
}

// One may be possible after another only.
void set_all(const std::vector<Knob>& knobs, std::map<std::string, json> wanted) {
  while (!wanted.empty()) {
    const std::size_t before = wanted.size();
    std::optional<core::Error> problem;
    std::erase_if(wanted, [&](const auto& entry) {
      try {
        find(knobs, entry.first)->set(entry.second);
        return true;
      } catch (const core::Error& error) {
        problem = error;
        return false;
      }
    });
    if (wanted.size() == before) throw *problem;
  }
}

}  // namespace

struct Steering::Values {
  std::map<std::string, json> was_set, configured;  // present values; those of before the first
};

Steering::Steering(const comm::Communicator& group, io::EventLog& log, std::shared_ptr<SteeringDesk> desk,
                   std::shared_ptr<const Replay> replay)
    : group_(&group),
      log_(&log),
      desk_(std::move(desk)),
      replay_(std::move(replay)),
      values_(std::make_unique<Values>()) {}

Steering::~Steering() = default;
Steering::Steering(Steering&& other) noexcept = default;

void Steering::open(std::vector<Knob> knobs, EditRules rules, Deeds deeds) {
  knobs_ = std::move(knobs);
  deeds_ = std::move(deeds);
  if (!desk_ || group_->rank() != 0) return;
  if (replay_)
    desk_->open({}, {});  // another value would make it another run
  else
    desk_->open(knobs_, std::move(rules));
}

void Steering::at_step(std::int64_t step, double progress) {
  if (!desk_ && !replay_) return;
  for (const Change& change : agreed(step)) make(change, step);
  tell(step, progress);
}

// What an earlier run was told goes before; of the desk, only what waits and tells is heard beside it.
std::vector<Change> Steering::agreed(std::int64_t step) {
  std::vector<Change> all;
  if (replay_) {
    if (std::exchange(replayed_, step) != step) all = replay_->changes(step);
    std::erase_if(all, [](const Change& change) { return !steering_verbs().named(change.verb).changes_state; });
  }
  if (!desk_) return all;
  std::string text;
  if (group_->rank() == 0) text = as_text(desk_->take(step, is_paused(step)));
  if (group_->broadcast(static_cast<std::int64_t>(text.size())) == 0) return all;
  for (const json& change : json::parse(group_->broadcast(std::move(text)))) all.push_back(change_from(change));
  return all;
}

void Steering::make(const Change& change, std::int64_t step) {
  json event = to_json(change);
  event["step"] = step;
  event["wall"] = core::present_time();
  std::string outcome = done_in_words;
  try {
    event.update(done(change, step));
  } catch (const core::Error& error) {
    outcome = error.message();
  } catch (const json::exception& error) {  // events that somebody has changed
    outcome = error.what();
  }
  if (outcome != done_in_words) event["message"] = outcome;
  if (outcome != done_in_words && replay_ && steering_verbs().named(change.verb).changes_state)
    throw core::Error(fmt::format("the change `{}` after step {} cannot be made again: {}", change.verb, step, outcome),
                      replay_->where(), "replay the events as the run has written them");
  log_->write(outcome == done_in_words ? "steering" : "steering_refused", event);
  if (desk_ && group_->rank() == 0) desk_->conclude(change, outcome);
}

json Steering::done(const Change& change, std::int64_t step) {
  if (change.verb == "set") return set(change);
  if (change.verb == "edit") return edit(change, step);
  if (change.verb == "checkpoint") return deeds_.write_checkpoint();
  if (change.verb == "stop") is_stopped_ = true;
  if (change.verb == "pause") pause_at_ = step;
  if (change.verb == "step") pause_at_ = step + change.value.get<std::int64_t>();
  if (change.verb == "resume") pause_at_.reset();
  return json::object();
}

json Steering::edit(const Change& change, std::int64_t step) {
  json told = deeds_.edit(edit_from(change.name, change.value));
  ++changes_;
  last_edit_ = in_words(change, step);
  return told;
}

json Steering::set(const Change& change) {
  const Knob* const knob = find(knobs_, change.name);
  if (knob == nullptr)
    throw core::Error(fmt::format("this run has no knob `{}`", change.name), "",
                      "`sidestream steer RUN list` says which there are");
  const json old = knob->value();
  knob->set(change.value);
  if (change.name.starts_with(limits_of_a_job)) return {{"old", old}};
  ++changes_;
  values_->configured.emplace(change.name, old);
  values_->was_set[change.name] = change.value;
  return {{"old", old}};
}

void Steering::tell(std::int64_t step, double progress) {
  if (!desk_ || group_->rank() != 0) return;
  SteeringStanding standing{step, progress, is_paused(step) ? "paused" : "running", {}};
  for (const Knob& knob : knobs_) standing.values[knob.option.name] = knob.value();
  desk_->tell(std::move(standing));
}

void Steering::blaming(const std::function<void()>& work) const {
  try {
    work();
  } catch (const core::Error& error) {
    if (last_edit_.empty()) throw;
    const std::string otherwise = error.hint().empty() ? "" : "; otherwise: " + error.hint();
    core::Error blamed(error.message(), error.where(),
                       last_edit_ + ". If that is at fault, go on from a checkpoint of before" + otherwise);
    if (error.is_reported_elsewhere()) blamed.report_elsewhere();
    throw blamed;
  }
}

void Steering::close() {
  if (!desk_ || group_->rank() != 0) return;
  for (const Change& change : desk_->close()) log_->write("steering_left", to_json(change));
}

std::string Steering::memory() const {
  return values_->was_set.empty() ? "" : json(values_->was_set).dump();
}

std::vector<std::string> Steering::restore(const std::string& memory) {
  std::map<std::string, json> wanted = std::exchange(values_->configured, {});
  values_->was_set.clear();
  try {
    const json settings = memory.empty() ? json::object() : json::parse(memory);
    for (const auto& [name, value] : settings.items())
      if (const Knob* const knob = find(knobs_, name)) {
        values_->configured.emplace(name, wanted.contains(name) ? wanted.at(name) : knob->value());
        values_->was_set[name] = wanted[name] = value;
      }
    set_all(knobs_, std::move(wanted));
  } catch (const json::exception& error) {
    throw core::Error(fmt::format("what was steered is damaged in the checkpoint: {}", error.what()));
  }
  std::vector<std::string> words;
  for (const auto& [name, value] : values_->was_set) words.push_back(fmt::format("`{}` = {}", name, value.dump()));
  return words;
}

std::vector<std::pair<std::string, core::Node>> Steering::settings() const {
  std::vector<std::pair<std::string, core::Node>> all;
  for (const auto& [name, value] : values_->was_set) all.emplace_back(name, node_of(*find(knobs_, name), value));
  return all;
}

}  // namespace sidestream::couple
