#include "sims/run/staging.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/io/carried_content.hpp"
#include "sidestream/io/generations.hpp"

namespace sidestream::sims {

namespace {

std::vector<const OutputConfig*> staged_outputs(const RunConfig& config) {
  std::vector<const OutputConfig*> all;
  for (const OutputConfig& plotfile : config.plotfiles)
    if (!plotfile.stage.empty()) all.push_back(&plotfile);
  if (config.checkpoint && !config.checkpoint->stage.empty()) all.push_back(&*config.checkpoint);
  return all;
}

// That of the newest committed checkpoint that can be opened; -1 where there is none.
std::int64_t newest_step(const std::string& folder) {
  for (const io::Generation& generation : io::generations_in(folder)) {
    try {
      generation.format->open(generation.path);
      return generation.step;
    } catch (const std::exception&) {  // the restart tells of it
    }
  }
  return -1;
}

// All ranks see what the first one does.
std::vector<io::StagedNote> notes_of_newer(const comm::Communicator& compute, const std::string& folder) {
  nlohmann::json all = nlohmann::json::array();
  compute.agree_on([&] {
    if (compute.rank() != 0) return;
    for (const io::StagedNote& note : io::staged_notes_in(folder, newest_step(folder)))
      all.push_back({note.step, note.path, note.text ? nlohmann::json(*note.text) : nlohmann::json()});
  });
  std::vector<io::StagedNote> notes;
  for (const nlohmann::json& note : nlohmann::json::parse(compute.broadcast(all.dump())))
    notes.push_back(
        {note.at(0), note.at(1), note.at(2).is_null() ? std::nullopt : std::optional<std::string>(note.at(2))});
  return notes;
}

// In the format of its name.
io::FileChoice choice_for(const RunConfig& config, const std::string& path) {
  io::FileChoice choice;
  if (config.checkpoint) choice = config.checkpoint->file;
  choice.kind = io::FileKind::checkpoint;
  const std::string name = std::filesystem::path(path).filename().string();
  if (choice.format != nullptr && choice.format->checkpoint && choice.format->checkpoint->step_of(name)) return choice;
  for (const io::Format& format : io::formats())
    if (format.checkpoint && format.checkpoint->step_of(name)) choice.format = &format;
  choice.options = {};
  return choice;
}

// What was staged, whole.
struct Found {
  io::Stage stage;
  io::StagedSet set;
  io::CarriedContent content;
};

Found found_whole(const comm::Communicator& compute, const std::string& folder, const io::StagedNote& note,
                  const std::function<void(const std::string& text)>& tell) {
  io::StagedSet set;
  std::string stage_folder;
  compute.agree_on([&] {
    if (!note.text)
      throw core::Error("the note about what was staged is damaged, or was edited", io::staged_note_path(note.path),
                        "remove it: the run goes on from the checkpoint before");
    const nlohmann::json text = nlohmann::json::parse(*note.text);
    set = io::StagedSet::from_text(text.at("set"));
    const std::string where = text.at("stage");
    stage_folder = io::with_environment(where, folder);
    io::check_stage(stage_folder, where);
  });
  io::Stage stage(compute, stage_folder, folder);
  io::CarriedContent content = stage.open(compute, set, tell);
  return {std::move(stage), std::move(set), std::move(content)};
}

void write_and_commit(const comm::Communicator& compute, const RunConfig& config, const Found& found,
                      const std::string& path) {
  const io::FileChoice choice = choice_for(config, path);
  io::write_pending(compute, path, [&](const std::string& pending) {
    return io::write_carried(compute, found.content, choice, pending);
  });
  compute.agree_on([&] {
    if (compute.rank() != 0) return;
    std::filesystem::remove_all(path);  // what is there cannot be opened
    io::commit(path);
  });
  found.stage.remove(found.set);
}

}  // namespace

void require_stages(const comm::Communicator& world, const RunConfig& config) {
  world.agree_on([&] {
    if (world.rank() >= world.size() - config.coupling.sidecars_used()) return;
    for (const OutputConfig* output : staged_outputs(config))
      io::check_stage(io::with_environment(output->stage, output->stage_where), output->stage_where);
  });
}

Staging::Staging(const comm::Communicator& compute, const RunConfig& config, const std::string& folder) {
  for (const OutputConfig* output : staged_outputs(config)) {
    if (!where_.emplace(output->stage, output->stage_where).second) continue;
    stages_.emplace(output->stage,
                    io::Stage(compute, io::with_environment(output->stage, output->stage_where), folder));
  }
}

std::vector<core::Error> Staging::warnings() const {
  std::vector<core::Error> all;
  for (const auto& [folder, stage] : stages_)
    if (stage.nodes() == 1)
      all.emplace_back(
          stage.is_shared()
              ? fmt::format("all nodes see the same folder \"{}\": what is staged there has no copy", folder)
              : fmt::format("there is one node: what is staged in \"{}\" has no copy on another", folder),
          where_.at(folder),
          "a restart needs this disk until a file is committed; on several nodes name a folder on a disk "
          "of each");
  return all;
}

void Staging::clear() const {
  for (const auto& [folder, stage] : stages_) stage.remove_all();
}

std::string note_of(const OutputConfig& output, const io::StagedSet& set, const std::string& physics) {
  return nlohmann::json{{"stage", output.stage}, {"set", set.to_text()}, {"physics", physics}}.dump();
}

std::map<std::string, std::string> physics_in_note(const io::StagedNote& note) {
  if (!note.text) return {};
  return nlohmann::json::parse(nlohmann::json::parse(*note.text).at("physics").get<std::string>());
}

void commit_staged(const comm::Communicator& compute, const RunConfig& config, const std::string& folder,
                   io::EventLog& log, const std::function<void(const std::string& line)>& say) {
  for (const io::StagedNote& note : notes_of_newer(compute, folder)) {
    std::optional<Found> found;
    try {
      found.emplace(found_whole(compute, folder, note, say));
    } catch (const std::exception& error) {
      log.write("staged_skipped", {{"step", note.step}, {"path", note.path}, {"message", error.what()}});
      say(fmt::format("passed over the checkpoint {}, which was staged\n{}", note.path, error.what()));
      continue;
    }
    try {
      write_and_commit(compute, config, *found, note.path);
    } catch (const core::Error&) {
      say(fmt::format(
          "the checkpoint {} is whole on the disks of the nodes and could not be written: make room for it, "
          "or remove {} to go on from the one before",
          note.path, io::staged_note_path(note.path)));
      throw;
    }
    log.write("staged_committed", {{"step", note.step}, {"path", note.path}});
    say(fmt::format("committed the checkpoint {}, which was staged", note.path));
    if (const std::vector<std::string> hosts = found->stage.unseen_hosts(found->set); !hosts.empty())
      say(fmt::format("parts of it stay on nodes where no rank is: {}, in the folder \"{}\" of the stage",
                      fmt::join(hosts, ", "), found->set.run));
    if (!found->stage.is_own(found->set))
      say(fmt::format("it was staged while the run had another folder: the parts stay on the nodes, in \"{}\"",
                      found->set.run));
    return;
  }
}

}  // namespace sidestream::sims
