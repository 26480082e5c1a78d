#include "sidestream/io/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <vector>

#include "io/run/run_lock.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/generations.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

bool holds_snapshots(const std::string& name) {
  return name == "snapshots" || name.starts_with("snapshots.");
}

}  // namespace

bool belongs_to_a_run(const std::string& name) {
  return name == "config.toml" || name == "report.html" || name == "report.data" || name == "live.html" ||
         name == "wall.json" || name == "stream.json" || name == "results" || name == "pending" || name == "steering" ||
         holds_snapshots(name) || (name.starts_with("events") && name.ends_with(".jsonl")) ||
         (name.starts_with("mergers.") && name.ends_with(".nc")) || is_output_name(name);
}

namespace {

// What a write that was interrupted left behind.
bool is_leftover(const std::string& name) {
  return is_unfinished_output(name) ||
         (name.starts_with(".") && name.ends_with(".tmp") && belongs_to_a_run(name.substr(1, name.size() - 5)));
}

// Of the format in which snapshots are stored: one that takes boxes of any size.
const StepName& snapshot_name() {
  return *formats().named("raw").plotfile;
}

bool is_result(const std::string& name) {
  return name.ends_with(".nc") &&
         std::ranges::all_of(name.substr(0, name.size() - 3), [](char c) { return c >= '0' && c <= '9'; });
}

template <typename Condition>
std::vector<fs::path> files_of(const std::string& folder, Condition condition) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (condition(entry->path().filename().string())) files.push_back(entry->path());
  return files;
}

template <typename Condition>
void remove_files_of(const std::string& folder, Condition condition) {
  for (const fs::path& file : files_of(folder, condition)) remove_all(file.string());
}

// The folders of those tasks of the run in `folder` that write files.
std::vector<std::string> folders_of_tasks(const std::string& folder) {
  std::vector<std::string> folders;
  try {
    const core::Node config = core::load_toml(folder + "/config.toml");
    if (const core::Node* tasks = config.find("task"))
      for (const auto& [name, task] : tasks->members())
        if (task.find("write") != nullptr) folders.push_back(folder + "/" + name);
  } catch (const core::Error&) {
    folders.clear();  // a run that tells nothing of its tasks has none
  }
  return folders;
}

void prove_writable(const std::string& folder) {
  const std::string probe = folder + "/.writable.tmp";
  OutputFile file(probe, OutputFile::Open::create);
  remove_all(probe);
}

void take_over(const RunFolder& run, ExistingRun existing) {
  if (!run.holds_a_run() || existing == ExistingRun::resume) return;
  if (existing == ExistingRun::refuse)
    throw core::Error("the output folder holds an earlier run", run.path(),
                      "choose another folder with `--out`, go on from its checkpoint with `--restart`, or replace it "
                      "with `--overwrite`");
  for (const std::string& folder : folders_of_tasks(run.path())) remove_files_of(folder, is_output_name);
  remove_files_of(run.path(), belongs_to_a_run);
}

}  // namespace

std::string step_name(std::int64_t step) {
  return fmt::format("{:05}", step);
}

std::string RunFolder::stream() const {
  return path_ + "/stream.json";
}
std::string RunFolder::config() const {
  return path_ + "/config.toml";
}
std::string RunFolder::events(const std::string& group) const {
  return group == "compute" ? path_ + "/events.jsonl" : path_ + "/events." + group + ".jsonl";
}
std::string RunFolder::result(const std::string& task, std::int64_t step) const {
  return path_ + "/results/" + task + "/" + step_name(step) + ".nc";
}
std::optional<std::int64_t> RunFolder::newest_result(const std::string& task, std::int64_t below) const {
  std::optional<std::int64_t> newest;
  for (const fs::path& file : files_of(path_ + "/results/" + task, is_result)) {
    const std::string name = file.stem().string();
    std::int64_t step = 0;
    std::from_chars(name.data(), name.data() + name.size(), step);
    if (step < below && step >= newest.value_or(0) && fs::path(result(task, step)).filename() == file.filename())
      newest = step;
  }
  return newest;
}
std::string RunFolder::snapshots(const std::string& grid) const {
  return path_ + "/snapshots" + (grid.empty() ? "" : "." + grid);
}
std::string RunFolder::snapshot(std::int64_t step, const std::string& grid) const {
  return snapshots(grid) + "/" + snapshot_name().of(step);
}
std::vector<std::int64_t> RunFolder::stored_steps(const std::string& grid) const {
  std::vector<std::int64_t> steps;
  for (const fs::path& file :
       files_of(snapshots(grid), [](const std::string& name) { return snapshot_name().step_of(name).has_value(); }))
    steps.push_back(*snapshot_name().step_of(file.filename().string()));
  std::ranges::sort(steps);
  return steps;
}
std::string RunFolder::report() const {
  return path_ + "/report.html";
}

bool RunFolder::holds_a_run() const {
  return !files_of(path_, belongs_to_a_run).empty();
}

void RunFolder::require_no_job() const {
  require_no_job_in(path_);
}

RunFolder prepare_run_folder(const comm::Communicator& comm, const std::string& path, ExistingRun existing,
                             const std::string& config_toml) {
  RunFolder run(path);
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    make_lasting_folder(path);
    prove_writable(path);
    run = RunFolder(path, std::make_shared<const RunLock>(path));
    for (const std::string& folder : folders_of_tasks(path)) remove_files_of(folder, is_leftover);
    for (const fs::path& grid : files_of(path, holds_snapshots)) remove_files_of(grid.string(), is_leftover);
    take_over(run, existing);
    remove_files_of(path, is_leftover);
    write_file_atomically(run.config(), config_toml);
  });
  return run;
}

}  // namespace sidestream::io
