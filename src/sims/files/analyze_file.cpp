#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include "sidestream/analysis/vortices.hpp"
#include "sidestream/couple/stored.hpp"
#include "sidestream/io/common_units.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/files/file_ionization.hpp"
#include "sims/files/file_matter.hpp"
#include "sims/files/file_tasks.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

namespace {

using core::Node;

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
void check_folder(const FilesToAnalyze& what) {
  const io::RunFolder folder(what.folder);
  if (!folder.holds_a_run()) return;
  namespace fs = std::filesystem;
  const bool is_of_file = fs::exists(folder.config()) && core::load_toml(folder.config()).find("simulation") == nullptr;
  const bool holds_file = std::ranges::any_of(what.files, [&](const std::string& name) {
    const fs::path file = fs::weakly_canonical(name).lexically_relative(fs::weakly_canonical(what.folder));
    return !file.empty() && *file.begin() != "..";
  });
  if (!is_of_file || holds_file)
    throw core::Error(holds_file ? "the output folder holds the file itself" : "the output folder holds a run",
                      what.folder, "choose another folder with `--out`");
  if (!what.overwrites)
    throw core::Error("the output folder holds results of tasks with a file", what.folder,
                      "make them all anew with `--overwrite`, or choose another folder with `--out`");
}

// One by one, all ranks together.
class FileAnalysis {
 public:
  FileAnalysis(const comm::Communicator& world, const Node& root, const FilesToAnalyze& what, core::Bill& bill,
               const std::function<void(const std::string& line)>& tell, bool is_of_run)
      : world_(world), what_(what), bill_(bill), tell_(tell), is_of_run_(is_of_run) {
    world.agree_on([&] {
      check_folder(what);
      core::check_known_keys(root, std::array<std::string, 5>{"coupling", "stream", "task", "quantity", "heating"});
      root_ = root;
    });
  }

  // How many results could not be made, on rank 0.
  std::int64_t operator()(const std::string& file) {
    mesh::Snapshot snapshot = io::in_common_units(io::open_snapshot(world_, file));
    if (const auto redshift = snapshot.moment.redshift()) snapshot.moment.attributes.emplace("redshift", *redshift);
    add_dark_matter_of_particles(world_, snapshot);
    Sources sources = add_common_quantities(snapshot);
    analysis::add_vortex_quantities(world_, snapshot, declared_in(root_));
    Node resolved(Node::Members{});
    FileIonization ionization(world_, root_, snapshot, sources, resolved, is_of_run_);
    couple::CouplingConfig config;
    world_.agree_on([&] {
      const bool has_redshift = snapshot.moment.redshift().has_value();
      for (const mesh::DerivedQuantity& derived :
           mesh::read_derived(root_, snapshot.quantities(), has_redshift, &resolved)) {
        sources[derived.quantity().name] = derived.of();
        derived.add_to(snapshot);
      }
      config = couple::read_coupling(root_, &resolved, analysis::analyses(), {.has_redshift = has_redshift});
      check_tasks(config, expected_of(snapshot));
    });
    ionization.check(world_, config, tell_);
    if (!folder_)
      folder_ = io::prepare_run_folder(world_, what_.folder, io::ExistingRun::overwrite, core::to_toml(resolved));
    std::int64_t failed = 0;
    for (const couple::TaskTotals& task : couple::analyze_snapshot(
             world_, config, snapshot, *folder_, bill_, [&](const couple::Task& task) { ionization.label(task); },
             tell_))
      failed += task.failed;
    return failed;
  }

 private:
  const comm::Communicator& world_;
  const FilesToAnalyze& what_;
  core::Bill& bill_;
  const std::function<void(const std::string& line)>& tell_;
  bool is_of_run_;
  Node root_;
  std::optional<io::RunFolder> folder_;
};

// In the order of their steps, which results are named after.
std::vector<std::string> in_order(const comm::Communicator& world, const std::vector<std::string>& files) {
  std::map<std::int64_t, std::string> ordered;
  for (const std::string& file : files) {
    const auto [other, is_new] = ordered.emplace(io::open_snapshot(world, file).moment.step, file);
    if (is_new) continue;
    throw core::Error(fmt::format("this file and {} are both of step {}", other->second, other->first), file,
                      "results are named after the step: give each a folder of its own with `--out`");
  }
  std::vector<std::string> names;
  for (const auto& [step, file] : ordered) names.push_back(file);
  return names;
}

}  // namespace

std::int64_t analyze_files(const comm::Communicator& world, const Node& root, const FilesToAnalyze& what,
                           core::Bill& bill, const std::function<void(const std::string& line)>& tell) {
  Node tasks;
  world.agree_on([&] { tasks = tasks_for_files(root, what.tasks); });
  FileAnalysis analysis(world, tasks, what, bill, tell, root.find("simulation") != nullptr);
  std::int64_t failed = 0;
  for (const std::string& file : in_order(world, what.files)) failed += analysis(file);
  return failed;
}

}  // namespace sidestream::sims
