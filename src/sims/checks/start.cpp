#include "sims/checks/start.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "sidestream/core/bill.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/couple/edit_array.hpp"
#include "sidestream/couple/replay.hpp"
#include "sidestream/io/generations.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/io/pending.hpp"
#include "sims/checks/same_physics.hpp"
#include "sims/run/staging.hpp"

namespace sidestream::sims {

namespace {

// A run that begins after its end would end at once, as if it had done something.
void require_before_end(const RunConfig& config, const mesh::Moment& moment, const std::string& path) {
  constexpr double rounding = 1e-9;
  const couple::TimeKeeping times = config.plan->times();
  const auto refuse = [&](const std::string& what) {
    throw core::Error(what, path, "let the run end later, or give an earlier checkpoint");
  };
  if (const auto z = moment.redshift(); times.last_redshift && z)
    if (*z < *times.last_redshift - rounding * (1.0 + *z))
      refuse(fmt::format("the state is of redshift {:g}, after the end of the run at {:g}", *z, *times.last_redshift));
  if (times.last_time && !times.has_redshift && moment.time > *times.last_time * (1.0 + rounding))
    refuse(fmt::format("the state is of the time {:g}, after the end of the run at {:g}", moment.time / times.unit,
                       *times.last_time / times.unit));
}

// An earlier run decides for one of the same simulation, tasks and start only.
void require_same_run(const RunConfig& config, const couple::Replay& replay, const RunStart& start) {
  nlohmann::json own = config.plan->description();
  own["simulation"] = config.simulation;
  own["tasks"] = names_of_tasks(config);
  for (const auto& [key, value] : own.items())
    if (const nlohmann::json told = replay.description().value(key, nlohmann::json()); told != value)
      throw core::Error(fmt::format("the run of these events had another configuration: `{}` was {}, and is {} now",
                                    key, told.dump(), value.dump()),
                        replay.where(), "replay it with the `config.toml` of its folder");
  if (start.existing == io::ExistingRun::resume) return;
  if (start.file.empty() && !replay.start_file().empty())
    throw core::Error(fmt::format("the run of these events began with a file, {}", replay.start_file()), replay.where(),
                      "give it by `--from`");
  if (!start.file.empty() && replay.start_file().empty())
    throw core::Error("the run of these events began with its initial conditions, and not with a file", replay.where(),
                      "leave `--from` out");
}

// Of a checkpoint; nothing where it is damaged.
std::optional<mesh::Moment> moment_of(const std::string& path) {
  try {
    return io::open_snapshot_file(path)->description().state.moment;
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

// An earlier run decides for one of the same simulation, tasks and start, and has the arrays of its edits beside its
// events.
void require_replay(const RunConfig& config, const RunStart& start, const std::string& folder) {
  const auto replay = couple::Replay::read(start.replay);
  require_same_run(config, replay, start);
  for (const couple::RegionEdit& edit : replay.edits_by_arrays()) {
    couple::check_edit_array(replay.folder(), edit);
    if (std::filesystem::exists(folder) && std::filesystem::equivalent(replay.folder(), folder))
      throw core::Error("the arrays of edits of a run are in the folder of its replay", folder,
                        "choose another folder with `--out`");
  }
}

}  // namespace

std::vector<std::string> names_of_tasks(const RunConfig& config) {
  std::vector<std::string> names;
  for (const couple::Task& task : config.coupling.tasks) names.push_back(task.name);
  return names;
}

core::Error no_checkpoint(const std::string& folder, const std::string& problem) {
  return core::Error("there is no good checkpoint to restart from", folder,
                     !problem.empty() ? "of the newest one: " + problem
                     : std::filesystem::exists(folder + "/pending")
                         ? "those in `pending` were never committed: results of before them are missing; `--from` "
                           "begins with the state in one of them"
                         : "give the folder of a run that wrote checkpoints, or begin anew");
}

void require_start(const comm::Communicator& world, const RunConfig& config, const RunStart& start) {
  if (start.file.empty())
    return world.agree_on([&] {
      if (world.rank() == 0) config.plan->check_start(true);
    });
  core::Bill bill;
  const std::unique_ptr<Simulation> trial = config.plan->make(world, {}, bill);
  trial->restore(
      io::open_snapshot(world, start.file, [&](const mesh::Snapshot& file) { return trial->blocks_for(file); }));
}

void check_start(const RunConfig& config, const std::string& folder, const RunStart& start) {
  io::RunFolder(folder).require_no_job();
  if (!start.replay.empty()) require_replay(config, start, folder);
  if (start.existing == io::ExistingRun::resume) {
    const std::vector<io::Generation> generations = io::generations_in(folder);
    const auto staged = io::staged_notes_in(folder, generations.empty() ? -1 : generations.front().step);
    if (generations.empty() && staged.empty()) throw no_checkpoint(folder, "");
    for (const io::StagedNote& note : staged)
      require_same_physics(config, physics_in_note(note), note.path, start.allowed_changes);
    require_same_physics(config, generations, start.allowed_changes);
    for (const io::Generation& generation : generations)
      if (const auto moment = moment_of(generation.path)) {
        require_before_end(config, *moment, generation.path);
        break;
      }
  }
  if (start.file.empty()) return;
  const auto file = io::open_snapshot_file(start.file);
  require_before_end(config, file->description().state.moment, start.file);
  require_fitting_start(config, file->description(), start.allowed_changes);
}

}  // namespace sidestream::sims
