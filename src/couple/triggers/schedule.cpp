#include "sidestream/couple/schedule.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/couple/replay.hpp"

namespace sidestream::couple {

namespace {

std::map<std::string, TriggerMemory> memories_in(const std::string& text) {
  std::map<std::string, TriggerMemory> all;
  if (text.empty()) return all;
  try {
    const nlohmann::json stored = nlohmann::json::parse(text);
    for (const auto& [name, memory] : stored.items())
      all[name] = {memory.at("quiet_s").get<double>(), memory.at("was_true").get<bool>()};
  } catch (const nlohmann::json::exception& error) {
    throw core::Error(std::string("what the triggers remember is damaged: ") + error.what(), "",
                      "go on from an earlier checkpoint: remove this one, then run with --restart");
  }
  return all;
}

}  // namespace

Schedule::Schedule(const comm::Communicator& group, core::Bill& bill, double time_unit)
    : group_(&group), bill_(&bill), time_unit_(time_unit) {}

void Schedule::add(const std::string& name, Trigger trigger) {
  entries_[name] = {std::move(trigger), false};
}

bool Schedule::decide(Occasion occasion, const PresentState::SnapshotOf& snapshot) {
  const std::int64_t step = occasion.moment.step;
  if (std::exchange(decided_, step) == step) return false;
  const bool needs_clock =
      std::ranges::any_of(entries_, [](const auto& e) { return e.second.trigger.when().every_wall_time_s > 0.0; });
  if (!occasion.wall_s && needs_clock) occasion.wall_s = group_->broadcast(bill_->wall_s());
  wall_s_ = occasion.wall_s.value_or(0.0);
  PresentState state(*group_, occasion.moment, snapshot, time_unit_);
  for (auto& [name, entry] : entries_) {
    if (replay_) entry.trigger.heed(replay_->was_due_by_clock(name, step));
    if (!entry.trigger.when().is_collective()) {
      entry.is_due = entry.trigger.is_due(occasion, state);
      continue;
    }
    const core::Bill::Part part = bill_->part("finding out what is due", name);
    entry.is_due = entry.trigger.is_due(occasion, state);
  }
  return true;
}

bool Schedule::is_due(const std::string& name) const {
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.is_due;
}

std::vector<std::string> Schedule::due_by_clock() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_)
    if (entry.is_due && entry.trigger.was_due_by_clock()) names.push_back(name);
  return names;
}

std::string Schedule::memory() const {
  nlohmann::json all;
  for (const auto& [name, entry] : entries_) {
    if (!entry.trigger.when().has_memory()) continue;
    const TriggerMemory memory = entry.trigger.memory(wall_s_);
    const bool goes_by_clock = entry.trigger.when().every_wall_time_s > 0.0;
    all[name] = {{"quiet_s", goes_by_clock ? memory.quiet_s : 0.0}, {"was_true", memory.was_true}};
  }
  return all.is_null() ? "" : all.dump();
}

void Schedule::resume(const mesh::Moment& moment, const std::string& memory) {
  const std::map<std::string, TriggerMemory> known = memories_in(memory);
  decided_ = moment.step;
  for (auto& [name, entry] : entries_) {
    const auto found = known.find(name);
    entry.trigger.resume(moment, wall_s_, found == known.end() ? TriggerMemory{} : found->second);
    entry.is_due = false;
  }
}

}  // namespace sidestream::couple
