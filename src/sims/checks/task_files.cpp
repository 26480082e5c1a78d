#include "sims/checks/task_files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>

#include "sidestream/analysis/python.hpp"
#include "sidestream/core/config_path.hpp"
#include "sidestream/core/input_file.hpp"

namespace sidestream::sims {

namespace {

// FNV-1a of 64 bits, and the length.
std::string digest_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  return fmt::format("{:016x}-{}", hash, text.size());
}

std::string path_of(const couple::Task& task) {
  return core::path_of(*task.table.find("file"));
}

}  // namespace

std::map<std::string, std::string> digests_of_task_files(const std::vector<couple::Task>& tasks) {
  std::map<std::string, std::string> digests;
  for (const couple::Task& task : tasks) {
    if (task.analysis_name != analysis::python_analysis) continue;
    try {
      digests[task.name] = digest_of(core::read_input_file(path_of(task), {.noun = "the file of a task"}));
    } catch (const core::Error&) {
      continue;  // a job on another machine has it
    }
  }
  return digests;
}

std::vector<core::Error> changed_task_files(const std::vector<couple::Task>& tasks,
                                            const std::map<std::string, std::string>& digests,
                                            const mesh::Snapshot& checkpoint) {
  const auto text = checkpoint.texts.find(task_files_text);
  if (text == checkpoint.texts.end()) return {};
  const std::map<std::string, std::string> kept = nlohmann::json::parse(text->second);
  std::vector<core::Error> warnings;
  for (const couple::Task& task : tasks) {
    const auto before = kept.find(task.name), now = digests.find(task.name);
    if (before == kept.end() || now == digests.end() || before->second == now->second) continue;
    warnings.emplace_back(
        fmt::format("the file of the task `{}` is not the one that the run was made with so far", task.name),
        path_of(task), "results from here on are those of the file as it is now");
  }
  return warnings;
}

}  // namespace sidestream::sims
