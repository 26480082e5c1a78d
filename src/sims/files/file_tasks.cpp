#include "sims/files/file_tasks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sidestream/io/file_choice.hpp"

namespace sidestream::sims {

namespace {

using core::Node;
using TaskNames = std::vector<std::string>;

// Keys of a task that say when and where a run does it, rather than what.
TaskNames keys_of_runs() {
  TaskNames keys = couple::trigger_keys().names();
  keys.insert(keys.end(), {"transport", "isolate", "memory_limit"});
  return keys;
}

bool is_among(const TaskNames& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_asked_for(const TaskNames& asked, const std::string& task) {
  return asked.empty() || std::ranges::any_of(asked, [&](const std::string& name) {
           return task == name || task.starts_with(name + "_");
         });
}

Node without(const Node& table, const TaskNames& keys) {
  Node rest = table;
  Node::Members members = table.members();
  std::erase_if(members, [&](const auto& member) { return is_among(keys, member.first); });
  rest.value() = std::move(members);
  return rest;
}

Node at_end(Node task) {
  const TaskNames triggers = couple::trigger_keys().names();
  if (std::ranges::none_of(triggers, [&](const std::string& key) { return task.find(key) != nullptr; }))
    task.set("at_end", Node(true));
  return task;
}

}  // namespace

bool is_of_run(const Node& root) {
  return std::ranges::any_of(std::array{"simulation", "run", "output"},
                             [&](const char* key) { return root.find(key) != nullptr; });
}

Node tasks_for_files(const Node& root, const TaskNames& names) {
  const bool of_run = is_of_run(root);
  const Node* const tasks = root.find("task");
  if (tasks == nullptr)
    core::reject(root, "there is no task", "describe what to do in a table [task.NAME], or name an analysis");
  Node chosen(Node::Members{}, "task");
  TaskNames there;
  for (const auto& [name, task] : tasks->members()) {
    if (of_run && task.find("write") != nullptr) continue;
    there.push_back(name);
    if (is_asked_for(names, name)) chosen.set(name, at_end(of_run ? without(task, keys_of_runs()) : task));
  }
  for (const std::string& name : names)
    if (std::ranges::none_of(there, [&](const std::string& task) { return is_asked_for({name}, task); }))
      core::reject(*tasks, fmt::format("there is no task `{}`", name),
                   fmt::format("tasks that make results: {}", fmt::join(there, ", ")));
  Node all = root;
  if (of_run) {
    Node::Members members;
    for (const auto& [key, table] : root.members())
      if (key == "quantity" || key == "heating") members.emplace_back(key, table);
    all.value() = std::move(members);
  }
  all.set("task", std::move(chosen));
  return all;
}

void take_grid_of(const mesh::Snapshot& file, couple::CouplingConfig& config) {
  const auto own = file.texts.find(io::grid_text);
  for (couple::Task& task : config.tasks) {
    if (task.grid.empty()) continue;
    if (own == file.texts.end() || own->second != task.grid)
      core::reject(*task.table.find("grid"),
                   own == file.texts.end()
                       ? fmt::format("the file does not say that it is of the grid `{}`", task.grid)
                       : fmt::format("the file is of the grid `{}`, not `{}`", own->second, task.grid),
                   "leave the key out, or take a plot file that was written with this `grid`");
    task.grid.clear();
  }
}

}  // namespace sidestream::sims
