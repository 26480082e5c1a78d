#include "sidestream/couple/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "sidestream/core/error.hpp"
#include "sidestream/core/input_file.hpp"
#include "sidestream/io/event_log.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr std::array<const char*, 4> causes{"wall time", "signal of the user", "signal of the system", "steering"};
constexpr std::array<const char*, 3> points{"outputs", "by hand", "end"};

// The entry of `words` that is `word`; nothing for one of a later version.
template <typename E, std::size_t count>
std::optional<E> entry_of(const std::array<const char*, count>& words, const json& word) {
  for (std::size_t n = 0; n < count; ++n)
    if (word == words[n]) return static_cast<E>(n);
  return std::nullopt;
}

std::pair<std::string, std::int64_t> task_at_step(const json& event) {
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

Replay::Replay(const std::string& events, const std::string& events_of_sidecars, const std::string& where)
    : where_(where) {
  for_each_event(events, where, [&](const json& event) { take(event); });
  std::set<TaskAtStep> withdrawn, analysed;
  for_each_event(events_of_sidecars, log_of_sidecars(where), [&](const json& event) {
    const json& kind = event.at("event");
    if (kind == "withdrawn") withdrawn.insert(task_at_step(event));
    if (kind == "analysis" || kind == "analysis_failed") analysed.insert(task_at_step(event));
  });
  // What was published again after a restart, and then analysed, is there.
  for (const TaskAtStep& task : withdrawn)
    if (!analysed.contains(task)) fates_[task] = PublishFate::left_out;
  if (description_.is_null())
    throw core::Error("no run has begun in these events", where, "give the `events.jsonl` of a run folder");
}

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

void Replay::take(const json& event) {
  const auto& kind = event.at("event").get_ref<const std::string&>();
  const auto step = [&] { return event.at("step").get<std::int64_t>(); };
  if (kind == "run_start") {
    description_ = event;
    ++jobs_;
    end_.reset();
  } else if (kind == "restart") {
    if (jobs_ == 1) start_file_ = event.at("path").get<std::string>();
    go_back(step());
  } else if (kind == "steering") {
    changes_[step()].push_back(change_from(event));
    steering_verbs().named(changes_[step()].back().verb);
  } else if (kind == "due_by_clock") {
    due_by_clock_.insert(task_at_step(event));
  } else if (kind == "publish") {
    const auto& action = event.at("action").get_ref<const std::string&>();
    fates_[task_at_step(event)] = action == "dropped"   ? PublishFate::left_out
                                  : action == "in-situ" ? PublishFate::done_here
                                                        : PublishFate::analysed;
  } else if (kind == "withdrawn") {
    fates_[task_at_step(event)] = PublishFate::left_out;
  } else if (kind == "job_ended") {
    ended_jobs_[task_at_step(event)] = {event.at("message").get<std::string>(), event.at("is_unwritten").get<bool>()};
  } else if (kind == "checkpoint_begun") {
    if (const auto point = entry_of<CheckpointPoint>(points, event.at("among"))) begin_checkpoint(step(), *point);
  } else if (kind == "checkpoint_committed") {
    if (step() == begun_.first) held_[step()] = begun_.second;
  } else if (kind == "ended_early") {
    if (const auto cause = entry_of<EndCause>(causes, event.at("by"))) end_ = {step(), *cause};
  }
}

// It holds the changes of before it. That one by hand was begun is told before the change that asked for it.
void Replay::begin_checkpoint(std::int64_t step, CheckpointPoint point) {
  checkpoints_.insert({step, point});
  const auto before = changes_.find(step);
  begun_ = {step, (before == changes_.end() ? 0 : before->second.size()) + (point == CheckpointPoint::by_hand ? 1 : 0)};
}

// To the checkpoint of `step`, with another job.
void Replay::go_back(std::int64_t step) {
  const auto is_later = [step](const auto& entry) { return entry.first > step; };
  std::erase_if(changes_, is_later);
  if (const auto last = changes_.find(step); last != changes_.end())
    last->second.resize(std::min(last->second.size(), held_[step]));
  for (auto& [at, changes] : changes_) std::erase_if(changes, is_of_one_job);
  std::erase_if(checkpoints_, is_later);
  std::erase_if(due_by_clock_, [step](const auto& entry) { return entry.second > step; });
  std::erase_if(fates_, [step](const auto& entry) { return entry.first.second > step; });
  std::erase_if(ended_jobs_, [step](const auto& entry) { return entry.first.second > step; });
}

std::vector<Change> Replay::changes(std::int64_t step) const {
  const auto found = changes_.find(step);
  return found == changes_.end() ? std::vector<Change>{} : found->second;
}

std::vector<RegionEdit> Replay::edits_by_arrays() const try {
  std::vector<RegionEdit> all;
  for (const auto& [step, changes] : changes_)
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

bool Replay::was_due_by_clock(const std::string& trigger, std::int64_t step) const {
  return due_by_clock_.contains({trigger, step});
}

PublishFate Replay::fate(const std::string& task, std::int64_t step) const {
  const auto found = fates_.find({task, step});
  return found == fates_.end() ? PublishFate::analysed : found->second;
}

std::optional<EndOfJob> Replay::end_of_job(const std::string& task, std::int64_t step) const {
  const auto found = ended_jobs_.find({task, step});
  return found == ended_jobs_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<EndCause> Replay::end(std::int64_t step) const {
  return end_ && end_->first == step ? std::optional(end_->second) : std::nullopt;
}

}  // namespace sidestream::couple
