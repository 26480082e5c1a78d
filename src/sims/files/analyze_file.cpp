#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "sidestream/analysis/vortices.hpp"
#include "sidestream/couple/stored.hpp"
#include "sidestream/io/common_units.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/io/read_ahead.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/files/file_gas.hpp"
#include "sims/files/file_ionization.hpp"
#include "sims/files/file_matter.hpp"
#include "sims/files/file_overdensity.hpp"
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

using Tell = std::function<void(const std::string& line)>;

// Up to so many cells of a file are one rank's work, where there are more files than all ranks together can use.
constexpr std::int64_t cells_for_a_rank = std::int64_t{1} << 21;

std::int64_t cells_in(const mesh::Snapshot& snapshot) {
  std::int64_t cells = 0;
  for (const mesh::Layout& level : snapshot.levels)
    for (const mesh::Box& box : level.boxes()) cells += box.volume();
  return cells;
}

// A file of a series, which results are named after the steps of.
struct Member {
  std::int64_t step = 0;
  std::string file;
};

// Files, one after another, by all ranks of a group.
class FileAnalysis {
 public:
  // Without a folder the first file prepares it. `group`: whose log of events it is.
  FileAnalysis(const comm::Communicator& ranks, const Node& root, std::string path, std::optional<io::RunFolder> folder,
               std::string group, const Tell& tell, bool is_of_run)
      : ranks_(ranks),
        root_(root),
        path_(std::move(path)),
        folder_(std::move(folder)),
        group_(std::move(group)),
        tell_(tell),
        is_of_run_(is_of_run) {}

  // How many results could not be made, on rank 0. `next`: what is read after this one.
  std::int64_t operator()(const Member& member, const std::string& next, core::Bill& bill) {
    const io::ReadAhead ahead(member.file, next);
    mesh::Snapshot snapshot = io::in_common_units(io::open_snapshot(ranks_, member.file));
    if (snapshot.moment.step != member.step)
      throw core::Error(fmt::format("the file was of step {} when the series began, and is of step {} now", member.step,
                                    snapshot.moment.step),
                        member.file, "others replace it: wait until it is written, then do the series again");
    if (const auto redshift = snapshot.moment.redshift()) snapshot.moment.attributes.emplace("redshift", *redshift);
    add_dark_matter_of_particles(ranks_, snapshot);
    Sources sources = add_common_quantities(snapshot);
    const std::vector<std::string> declared = declared_in(root_);
    add_gas_quantities(declared, snapshot, sources);
    add_overdensities(ranks_, declared, snapshot, sources);
    analysis::add_vortex_quantities(ranks_, snapshot, declared);
    Node resolved(Node::Members{});
    FileIonization ionization(ranks_, root_, snapshot, sources, resolved, is_of_run_);
    couple::CouplingConfig config;
    ranks_.agree_on([&] {
      const bool has_redshift = snapshot.moment.redshift().has_value();
      for (const mesh::DerivedQuantity& derived :
           mesh::read_derived(root_, snapshot.quantities(), has_redshift, &resolved)) {
        sources[derived.quantity().name] = derived.of();
        derived.add_to(snapshot);
      }
      config = couple::read_coupling(root_, &resolved, analysis::analyses(), {.has_redshift = has_redshift});
      take_grid_of(snapshot, config);
      check_tasks(config, expected_of(snapshot));
    });
    ionization.check(ranks_, config, tell_);
    if (!folder_) folder_ = io::prepare_run_folder(ranks_, path_, io::ExistingRun::overwrite, core::to_toml(resolved));
    looks_back_ = std::ranges::any_of(
        config.tasks, [](const couple::Task& task) { return task.analysis && task.analysis->looks_back(); });
    cells_ = cells_in(snapshot);
    std::int64_t failed = 0;
    for (const couple::TaskTotals& task : couple::analyze_snapshot(
             ranks_, config, snapshot, *folder_, group_, bill,
             [&](const couple::Task& task) { ionization.label(task); }, tell_))
      failed += task.failed;
    return failed;
  }

  // The same with a bill of its own, as each file after the first has.
  std::int64_t anew(const Member& member, const std::string& next) {
    core::Bill bill(core::Bill::Clock::now());
    return (*this)(member, next, bill);
  }

  const std::optional<io::RunFolder>& folder() const { return folder_; }

  // Of this many ranks, how many take part in one file like the last one; 0: all, for it depends on those before it.
  int ranks_for_one(int ranks) const {
    if (looks_back_) return 0;
    return static_cast<int>(std::min<std::int64_t>(ranks, 1 + (cells_ - 1) / cells_for_a_rank));
  }

 private:
  const comm::Communicator& ranks_;
  const Node& root_;
  std::string path_;
  std::optional<io::RunFolder> folder_;
  std::string group_;
  const Tell& tell_;
  bool is_of_run_;
  bool looks_back_ = false;
  std::int64_t cells_ = 0;
};

// In the order of their steps.
std::vector<Member> in_order(const comm::Communicator& world, const std::vector<std::string>& files) {
  std::map<std::int64_t, std::string> ordered;
  for (const std::string& file : files) {
    const auto [other, is_new] =
        ordered.emplace(io::open_snapshot_file(world, file)->description().state.moment.step, file);
    if (is_new) continue;
    throw core::Error(fmt::format("this file and {} are both of step {}", other->second, other->first), file,
                      "results are named after the step: give each a folder of its own with `--out`");
  }
  std::vector<Member> members;
  for (const auto& [step, file] : ordered) members.push_back({step, file});
  return members;
}

// Groups of ranks that have files of their own, and the one that this rank is in.
struct Deal {
  int groups = 1;
  int own = 0;
};

Deal dealt(int files, const comm::Communicator& world, int ranks_for_one) {
  if (ranks_for_one == 0 || files < 2) return {};
  const int groups = std::min(files, world.size() / ranks_for_one);
  return {groups, static_cast<int>(std::int64_t{world.rank()} * groups / world.size())};
}

}  // namespace

std::int64_t analyze_files(const comm::Communicator& world, const Node& root, const FilesToAnalyze& what,
                           core::Bill& bill, const Tell& tell) {
  Node tasks;
  world.agree_on([&] {
    tasks = tasks_for_files(root, what.tasks);
    check_folder(what);
    core::check_known_keys(tasks, std::array<std::string, 5>{"coupling", "stream", "task", "quantity", "heating"});
  });
  const bool of_run = is_of_run(root);
  const std::vector<Member> files = in_order(world, what.files);
  FileAnalysis first(world, tasks, what.folder, std::nullopt, "analyze", tell, of_run);
  const std::span others = std::span(files).subspan(1);
  const auto name_of = [&](std::size_t other) { return other < others.size() ? others[other].file : std::string(); };
  std::int64_t failed = first(files.front(), name_of(0), bill);
  const Deal deal = dealt(static_cast<int>(others.size()), world, first.ranks_for_one(world.size()));
  if (deal.groups < 2) {
    for (std::size_t file = 0; file < others.size(); ++file) failed += first.anew(others[file], name_of(file + 1));
    return failed;
  }
  const comm::Communicator group = world.split(deal.own);
  FileAnalysis analysis(group, tasks, what.folder, first.folder(), fmt::format("analyze.{}", deal.own), tell, of_run);
  std::exception_ptr problem;
  try {
    const auto step = static_cast<std::size_t>(deal.groups);
    for (auto file = static_cast<std::size_t>(deal.own); file < others.size(); file += step)
      failed += analysis.anew(others[file], name_of(file + step));
  } catch (const core::Error&) {
    problem = std::current_exception();
  }
  world.agree_on([&] {
    if (problem) std::rethrow_exception(problem);
  });
  const std::int64_t of_all = world.sum(failed);
  return world.rank() == 0 ? of_all : 0;
}

}  // namespace sidestream::sims
