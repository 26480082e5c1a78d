#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sidestream/analysis/analysis.hpp"

namespace sidestream::analysis {

namespace {

using core::Node;

const Suite* suite_of(const Node& task) {
  const Node* const analysis = task.is_table() ? task.find("analysis") : nullptr;
  if (analysis == nullptr || !analysis->is_text()) return nullptr;
  const auto found = std::ranges::find(suites(), analysis->text(), &Suite::name);
  return found == suites().end() ? nullptr : &*found;
}

bool is_task_key(const std::string& key) {
  return std::ranges::find(task_keys(), key) != task_keys().end();
}

void check_keys(const Node& task, const Suite& suite) {
  std::vector<std::string> parts;
  for (const Suite::Part& part : suite.parts) parts.push_back(part.name);
  for (const auto& [key, node] : task.members())
    if (std::ranges::find(parts, key) != parts.end())
      node.members();
    else if (!is_task_key(key))
      core::reject(node, fmt::format("the suite `{}` has no part `{}`", suite.name, key),
                   fmt::format("its parts, each with a table of its own keys: {}", fmt::join(parts, ", ")));
}

// What the part says by itself, the keys of the coupling of the whole, and what is said of the part.
Node task_of(const Node& task, const Suite::Part& part) {
  const Node* const own = task.find(part.name);
  Node merged = own != nullptr ? *own : task;
  merged.value() = core::parse_toml(part.parameters, "the suite").members();
  for (const auto& [key, node] : task.members())
    if (is_task_key(key) && key != "analysis") merged.set(key, node);
  if (own != nullptr)
    for (const auto& [key, node] : own->members()) merged.set(key, node);
  return merged;
}

}  // namespace

const core::Registry<Suite>& suites() {
  static const core::Registry<Suite> all(
      {"suites", "suite", "several analyses as one: `analysis` of [task.NAME]"},
      {{"gimlet",
        "Statistics of the intergalactic medium: Lyman-alpha flux, PDFs and spectra of densities, temperature",
        {{"flux", "analysis = 'flux'\nslice = true"},
         {"skewers", "analysis = 'flux_skewers'"},
         {"pdf", "analysis = 'pdf'"},
         {"hydrogen_pdf",
          "analysis = 'pdf'\nfields = ['neutral_hydrogen']\nin_means = false\nlow = 1e-16\nhigh = 1.0\nbins = 320"},
         {"temperature_pdf",
          "analysis = 'pdf'\nfields = ['temperature']\nin_means = false\nlow = 1.0\nhigh = 1e9\nbins = 360"},
         {"phase", "analysis = 'phase'"},
         {"power",
          "analysis = 'power_spectrum'\nfields = ['gas_density', 'dark_matter_density', 'total_density', "
          "'neutral_hydrogen']\nmu_bins = 4\ncross = true"}}}});
  return all;
}

Node::Members with_parts(const Node& tasks) {
  Node all = tasks;
  all.value() = Node::Members{};
  const auto add = [&](const std::string& name, const Node& task) {
    if (all.find(name) != nullptr)
      core::reject(task, fmt::format("two tasks are called `{}`", name), "give one another name");
    all.set(name, task);
  };
  for (const auto& [name, task] : tasks.members()) {
    const Suite* const suite = suite_of(task);
    if (suite == nullptr) {
      add(name, task);
      continue;
    }
    check_keys(task, *suite);
    for (const Suite::Part& part : suite->parts) add(name + "_" + part.name, task_of(task, part));
  }
  return std::get<Node::Members>(all.value());
}

}  // namespace sidestream::analysis
