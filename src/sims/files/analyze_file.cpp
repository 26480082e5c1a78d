#include <algorithm>
#include <array>
#include <filesystem>

#include "sidestream/analysis/vortices.hpp"
#include "sidestream/couple/stored.hpp"
#include "sidestream/io/common_units.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/files/file_ionization.hpp"
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
    expected.species[""].push_back(couple::ExpectedSpecies{.name = one.name(), .numbers = {}});
  for (const std::string& name : ionization_names())
    expected.ways[name] = "[heating] makes it, with an ionising background: --set heating.uv_background=NAME";
  return expected;
}

// What tasks with a file left there may be replaced; what a simulation left, or the file itself, never.
void check_folder(const FileToAnalyze& what) {
  const io::RunFolder folder(what.folder);
  if (!folder.holds_a_run()) return;
  namespace fs = std::filesystem;
  const bool is_of_file = fs::exists(folder.config()) && core::load_toml(folder.config()).find("simulation") == nullptr;
  const fs::path file = fs::weakly_canonical(what.file).lexically_relative(fs::weakly_canonical(what.folder));
  const bool holds_file = !file.empty() && *file.begin() != "..";
  if (!is_of_file || holds_file)
    throw core::Error(holds_file ? "the output folder holds the file itself" : "the output folder holds a run",
                      what.folder, "choose another folder with `--out`");
  if (!what.overwrites)
    throw core::Error("the output folder holds results of tasks with a file", what.folder,
                      "make them all anew with `--overwrite`, or choose another folder with `--out`");
}

}  // namespace

std::int64_t analyze_file(const comm::Communicator& world, const Node& root, const FileToAnalyze& what,
                          core::Bill& bill, const std::function<void(const std::string& line)>& tell) {
  world.agree_on([&] { check_folder(what); });
  mesh::Snapshot snapshot = io::in_common_units(io::open_snapshot(world, what.file));
  if (const auto redshift = snapshot.moment.redshift()) snapshot.moment.attributes.emplace("redshift", *redshift);
  world.agree_on([&] {
    core::check_known_keys(root, std::array<std::string, 5>{"coupling", "stream", "task", "quantity", "heating"});
  });
  couple::CouplingConfig config;
  Node resolved(Node::Members{});
  Sources sources = add_common_quantities(snapshot);
  analysis::add_vortex_quantities(world, snapshot, declared_in(root));
  FileIonization ionization(world, root, snapshot, sources, resolved);
  world.agree_on([&] {
    const bool has_redshift = snapshot.moment.redshift().has_value();
    for (const mesh::DerivedQuantity& derived :
         mesh::read_derived(root, snapshot.quantities(), has_redshift, &resolved)) {
      sources[derived.quantity().name] = derived.of();
      derived.add_to(snapshot);
    }
    config =
        couple::read_coupling(with_triggers(root), &resolved, analysis::analyses(), {.has_redshift = has_redshift});
    check_tasks(config, expected_of(snapshot));
  });
  ionization.check(world, config, tell);
  const io::RunFolder run =
      io::prepare_run_folder(world, what.folder, io::ExistingRun::overwrite, core::to_toml(resolved));
  std::int64_t failed = 0;
  for (const couple::TaskTotals& task : couple::analyze_snapshot(
           world, config, snapshot, run, bill, [&](const couple::Task& task) { ionization.label(task); }, tell))
    failed += task.failed;
  return failed;
}

}  // namespace sidestream::sims
