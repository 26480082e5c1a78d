#include "sidestream/couple/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "couple/steering/change.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/input_file.hpp"
#include "sidestream/couple/steering_desk.hpp"
#include "sidestream/io/event_log.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

using TaskAtStep = std::pair<std::string, std::int64_t>;

constexpr std::array<const char*, 4> causes{"wall time", "signal of the user", "signal of the system", "steering"};
constexpr std::array<const char*, 3> points{"outputs", "by hand", "end"};

// The entry of `words` that is `word`; nothing for one of a later version.
template <typename E, std::size_t count>
std::optional<E> entry_of(const std::array<const char*, count>& words, const json& word) {
  for (std::size_t n = 0; n < count; ++n)
    if (word == words[n]) return static_cast<E>(n);
  return std::nullopt;
}

TaskAtStep task_at_step(const json& event) {
  return {event.at("task").get<std::string>(), event.at("step").get<std::int64_t>()};
}

// Which a restart, another job, knows nothing of.
bool is_of_one_job(const Change& change) {
  return change.verb == "stop" || (change.verb == "set" && change.name.starts_with(limits_of_a_job));
}

json event_in(const std::string& line, const std::string& place) {
  try {
    return io::event_in(line);
  } catch (const core::Error& error) {
    throw core::Error("this line of the event log is damaged: " + error.message(), place,
                      "take a copy of the log that is whole, or the member `crc32` out of a line that was altered on "
                      "purpose");
  }
}

template <typename F>
void for_each_event(const std::string& events, const std::string& where, F take) {
  std::istringstream lines(events);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("{}:{}", where, number);
    try {
      take(event_in(line, place));
    } catch (const json::exception& error) {
      if (lines.eof()) return;  // half a line, of a run that was killed
      throw core::Error(fmt::format("this line is no event of a run: {}", error.what()), place,
                        "give the `events.jsonl` of a run folder");
    }
  }
}

std::string text_of(const std::filesystem::path& path) {
  constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;
  return core::read_input_file(
      path.string(),
      {.noun = "the events to be replayed", .hint = "give `events.jsonl` of a run", .most_bytes = most_bytes});
}

struct Files {
  std::string events, of_sidecars;
};

std::string log_of_sidecars(const std::string& path) {
  return (std::filesystem::path(path).parent_path() / "events.sidecar.jsonl").string();
}

Files files_at(const std::string& path) {
  Files files{text_of(path), ""};
  if (const std::string beside = log_of_sidecars(path); std::filesystem::exists(beside))
    files.of_sidecars = text_of(beside);
  return files;
}

}  // namespace

std::string in_words(EndCause cause) {
  return causes[static_cast<std::size_t>(cause)];
}

std::string in_words(CheckpointPoint point) {
  return points[static_cast<std::size_t>(point)];
}

/// What events tell. A class of its own, so that whoever asks needs no JSON.
struct Replay::Told {
  std::string start_file;
  int jobs = 0;
  json description;
  std::map<std::int64_t, std::vector<Change>> changes;
  std::set<TaskAtStep> due_by_clock;
  std::map<TaskAtStep, PublishFate> fates;
  std::map<TaskAtStep, EndOfJob> ended_jobs;
  std::set<std::pair<std::int64_t, CheckpointPoint>> checkpoints;
  std::pair<std::int64_t, std::size_t> begun;  // the last checkpoint: its step, and how many changes of it it holds
  std::map<std::int64_t, std::size_t> held;    // the same of those that were committed
  std::optional<std::pair<std::int64_t, EndCause>> end;

  Told(const std::string& events, const std::string& events_of_sidecars, const std::string& where);
  void take(const json& event);
  void begin_checkpoint(std::int64_t step, CheckpointPoint point);
  void go_back(std::int64_t step);
};

Replay::Told::Told(const std::string& events, const std::string& events_of_sidecars, const std::string& where) {
  for_each_event(events, where, [&](const json& event) { take(event); });
  std::set<TaskAtStep> withdrawn, analysed;
  for_each_event(events_of_sidecars, log_of_sidecars(where), [&](const json& event) {
    const json& kind = event.at("event");
    if (kind == "withdrawn") withdrawn.insert(task_at_step(event));
    if (kind == "analysis" || kind == "analysis_failed") analysed.insert(task_at_step(event));
  });
  // What was published again after a restart, and then analysed, is there.
  for (const TaskAtStep& task : withdrawn)
    if (!analysed.contains(task)) fates[task] = PublishFate::left_out;
  if (description.is_null())
    throw core::Error("no run has begun in these events", where, "give the `events.jsonl` of a run folder");
}

void Replay::Told::take(const json& event) {
  const auto& kind = event.at("event").get_ref<const std::string&>();
  const auto step = [&] { return event.at("step").get<std::int64_t>(); };
  if (kind == "run_start") {
    description = event;
    ++jobs;
    end.reset();
  } else if (kind == "restart") {
    if (jobs == 1) start_file = event.at("path").get<std::string>();
    go_back(step());
  } else if (kind == "steering") {
    changes[step()].push_back(change_from(event));
    steering_verbs().named(changes[step()].back().verb);
  } else if (kind == "due_by_clock") {
    due_by_clock.insert(task_at_step(event));
  } else if (kind == "publish") {
    const auto& action = event.at("action").get_ref<const std::string&>();
    fates[task_at_step(event)] = action == "dropped"   ? PublishFate::left_out
                                 : action == "in-situ" ? PublishFate::done_here
                                                       : PublishFate::analysed;
  } else if (kind == "withdrawn") {
    fates[task_at_step(event)] = PublishFate::left_out;
  } else if (kind == "job_ended") {
    ended_jobs[task_at_step(event)] = {event.at("message").get<std::string>(), event.at("is_unwritten").get<bool>()};
  } else if (kind == "checkpoint_begun") {
    if (const auto point = entry_of<CheckpointPoint>(points, event.at("among"))) begin_checkpoint(step(), *point);
  } else if (kind == "checkpoint_committed") {
    if (step() == begun.first) held[step()] = begun.second;
  } else if (kind == "ended_early") {
    if (const auto cause = entry_of<EndCause>(causes, event.at("by"))) end = {step(), *cause};
  }
}

// It holds the changes of before it. That one by hand was begun is told before the change that asked for it.
void Replay::Told::begin_checkpoint(std::int64_t step, CheckpointPoint point) {
  checkpoints.insert({step, point});
  const auto before = changes.find(step);
  begun = {step, (before == changes.end() ? 0 : before->second.size()) + (point == CheckpointPoint::by_hand ? 1 : 0)};
}

// To the checkpoint of `step`, with another job.
void Replay::Told::go_back(std::int64_t step) {
  const auto is_later = [step](const auto& entry) { return entry.first > step; };
  std::erase_if(changes, is_later);
  if (const auto last = changes.find(step); last != changes.end())
    last->second.resize(std::min(last->second.size(), held[step]));
  for (auto& [at, left] : changes) std::erase_if(left, is_of_one_job);
  std::erase_if(checkpoints, is_later);
  std::erase_if(due_by_clock, [step](const auto& entry) { return entry.second > step; });
  std::erase_if(fates, [step](const auto& entry) { return entry.first.second > step; });
  std::erase_if(ended_jobs, [step](const auto& entry) { return entry.first.second > step; });
}

Replay::Replay(const std::string& events, const std::string& events_of_sidecars, const std::string& where)
    : where_(where), told_(std::make_shared<const Told>(events, events_of_sidecars, where)) {}

Replay Replay::read(const std::string& path) {
  const Files files = files_at(path);
  return {files.events, files.of_sidecars, path};
}

Replay Replay::read(const comm::Communicator& comm, const std::string& path) {
  Files files;
  comm.agree_on([&] {
    if (comm.rank() == 0) files = files_at(path);
  });
  files.events = comm.broadcast(std::move(files.events));
  files.of_sidecars = comm.broadcast(std::move(files.of_sidecars));
  std::optional<Replay> replay;
  comm.agree_on([&] { replay.emplace(files.events, files.of_sidecars, path); });
  return std::move(*replay);
}

std::vector<Change> Replay::changes(std::int64_t step) const {
  const auto found = told_->changes.find(step);
  return found == told_->changes.end() ? std::vector<Change>{} : found->second;
}

std::vector<RegionEdit> Replay::edits_by_arrays() const try {
  std::vector<RegionEdit> all;
  for (const auto& [step, changes] : told_->changes)
    for (const Change& change : changes)
      if (change.verb == "edit")
        if (RegionEdit edit = edit_from(change.name, change.value); edit.array) all.push_back(std::move(edit));
  return all;
} catch (const json::exception& error) {
  throw core::Error(fmt::format("an edit is damaged in these events: {}", error.what()), where_,
                    "copy `events.jsonl` anew from the run");
}

std::string Replay::folder() const {
  const std::string parent = std::filesystem::path(where_).parent_path().string();
  return parent.empty() ? "." : parent;
}

const json& Replay::description() const {
  return told_->description;
}

const std::string& Replay::start_file() const {
  return told_->start_file;
}

bool Replay::wrote_checkpoint(std::int64_t step, CheckpointPoint point) const {
  return told_->checkpoints.contains({step, point});
}

bool Replay::was_due_by_clock(const std::string& trigger, std::int64_t step) const {
  return told_->due_by_clock.contains({trigger, step});
}

PublishFate Replay::fate(const std::string& task, std::int64_t step) const {
  const auto found = told_->fates.find({task, step});
  return found == told_->fates.end() ? PublishFate::analysed : found->second;
}

std::optional<EndOfJob> Replay::end_of_job(const std::string& task, std::int64_t step) const {
  const auto found = told_->ended_jobs.find({task, step});
  return found == told_->ended_jobs.end() ? std::nullopt : std::optional(found->second);
}

std::optional<EndCause> Replay::end(std::int64_t step) const {
  return told_->end && told_->end->first == step ? std::optional(told_->end->second) : std::nullopt;
}

}  // namespace sidestream::couple
