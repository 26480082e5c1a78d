#include <algorithm>
#include <array>
#include <optional>

#include "sidestream/analysis/vortices.hpp"
#include "sidestream/couple/stored.hpp"
#include "sidestream/io/common_units.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/quantities/common_quantities.hpp"
#include "sims/quantities/ionization.hpp"

namespace sidestream::sims {

namespace {

using core::Node;

// Tasks that do not say when they are due are so at the end of what there is.
Node with_triggers(const Node& root) {
  const Node* const tasks = root.find("task");
  if (tasks == nullptr)
    core::reject(root, "there is no task", "describe what to do in a table [task.NAME], or name an analysis");
  const std::vector<std::string> triggers = couple::trigger_keys().names();
  Node all = *tasks;
  for (const auto& [name, task] : tasks->members()) {
    const bool is_due =
        std::ranges::any_of(triggers, [&](const std::string& key) { return task.find(key) != nullptr; });
    Node due = task;
    if (!is_due) due.set("at_end", Node(true));
    all.set(name, due);
  }
  Node with = root;
  with.set("task", all);
  return with;
}

couple::Expected expected_of(const mesh::Snapshot& snapshot) {
  couple::Expected expected;
  expected.grids[""] = {snapshot.geometry.domain, snapshot.quantities()};
  for (const mesh::Species& one : snapshot.species())
    expected.species.push_back(couple::ExpectedSpecies{.name = one.name(), .numbers = {}});
  for (const std::string& name : ionization_names())
    expected.ways[name] = "[heating] makes it, with an ionising background: --set heating.uv_background=NAME";
  return expected;
}

// Of the run that made the file, which keeps its configuration; null where there is none.
std::optional<Node> heating_in(const mesh::Snapshot& file) {
  const auto config = file.texts.find(io::config_text);
  if (config == file.texts.end()) return std::nullopt;
  const Node run = core::parse_toml(config->second, file.source);
  const Node* const heating = run.find("heating");
  return heating != nullptr ? std::optional(*heating) : std::nullopt;
}

// Quantities that the tasks declare by expressions stay theirs.
std::vector<std::string> declared_in(const Node& root) {
  std::vector<std::string> names;
  if (const Node* const quantities = root.find("quantity"))
    for (const auto& member : quantities->members()) names.push_back(member.first);
  return names;
}

void add_ionization_by(const comm::Communicator& world, const Node& heating, const Node& root, mesh::Snapshot& file,
                       Node& resolved) {
  solvers::HeatingConfig config;
  Node full;
  world.agree_on([&] {
    config = ionization_table().read(heating, &full);
    full.set("uv_background", Node(config.uv_background));
  });
  add_ionization(world, config, declared_in(root), file);
  resolved.set("heating", full);
}

// As the tasks say it, else as the file does, which may lack what it takes: its tasks may do without it.
void add_ionization_of(const comm::Communicator& world, const Node& root, mesh::Snapshot& file, Node& resolved) {
  if (const Node* const heating = root.find("heating")) return add_ionization_by(world, *heating, root, file, resolved);
  try {
    std::optional<Node> heating;
    world.agree_on([&] { heating = heating_in(file); });
    if (heating) add_ionization_by(world, *heating, root, file, resolved);
  } catch (const core::Error&) {
    return;  // the task that needs it says so
  }
}

}  // namespace

std::int64_t analyze_file(const comm::Communicator& world, const Node& root, const std::string& file,
                          const std::string& folder, core::Bill& bill,
                          const std::function<void(const std::string& line)>& tell) {
  mesh::Snapshot snapshot = io::in_common_units(io::open_snapshot(world, file));
  if (const auto redshift = snapshot.moment.redshift()) snapshot.moment.attributes.emplace("redshift", *redshift);
  world.agree_on([&] {
    core::check_known_keys(root, std::array<std::string, 4>{"coupling", "task", "quantity", "heating"});
  });
  couple::CouplingConfig config;
  Node resolved(Node::Members{});
  add_common_quantities(snapshot);
  analysis::add_vortex_quantities(world, snapshot, declared_in(root));
  add_ionization_of(world, root, snapshot, resolved);
  world.agree_on([&] {
    const bool has_redshift = snapshot.moment.redshift().has_value();
    for (const mesh::DerivedQuantity& derived :
         mesh::read_derived(root, snapshot.quantities(), has_redshift, &resolved))
      derived.add_to(snapshot);
    config =
        couple::read_coupling(with_triggers(root), &resolved, analysis::analyses(), {.has_redshift = has_redshift});
    check_tasks(config, expected_of(snapshot));
  });
  const io::RunFolder run = io::prepare_run_folder(world, folder, io::ExistingRun::refuse, core::to_toml(resolved));
  std::int64_t failed = 0;
  for (const couple::TaskTotals& task : couple::analyze_snapshot(world, config, snapshot, run, bill, tell))
    failed += task.failed;
  return failed;
}

}  // namespace sidestream::sims
