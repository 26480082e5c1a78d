#include <algorithm>
#include <array>
#include <optional>

#include "sidestream/couple/stored.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/quantities/common_quantities.hpp"

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
  return expected;
}

}  // namespace

std::int64_t analyze_file(const comm::Communicator& world, const Node& root, const std::string& file,
                          const std::string& folder, core::Bill& bill,
                          const std::function<void(const std::string& line)>& tell) {
  mesh::Snapshot snapshot = io::open_snapshot(world, file);
  add_common_quantities(snapshot);
  if (const auto redshift = snapshot.moment.redshift()) snapshot.moment.attributes.emplace("redshift", *redshift);
  couple::CouplingConfig config;
  Node resolved(Node::Members{});
  world.agree_on([&] {
    core::check_known_keys(root, std::array<std::string, 3>{"coupling", "task", "quantity"});
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
