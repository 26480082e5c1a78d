#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/io/carried_content.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/pending.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "sims/checks/same_physics.hpp"
#include "sims/run/outputs.hpp"

// What outputs do with files that lie on disks of the nodes first.

namespace sidestream::sims {

// Returns whether it is staged. Where a disk of a node is full, the file is written where all see it, at once.
bool Outputs::stage(Output& output, const mesh::Snapshot& snapshot, io::FileChoice choice) {
  const core::Bill::Part part = bill_.part("staging", output.kind());
  const core::Stopwatch watch;
  const io::Stage& stage = staging_.of(*output.config);
  try {
    output.staged = stage.write(std::filesystem::path(output.path).filename().string(),
                                io::carried_content(compute_, snapshot, choice));
  } catch (const core::Error& error) {
    session_.log().write("stage_failed", {{"step", output.step}, {"path", output.path}, {"message", error.what()}});
    say_(fmt::format("the {} could not be staged and is written at once\n{}", output.what, error.what()));
    return false;
  }
  output.copy_s = watch.seconds();
  output.is_asynchronous = true;
  output.told = std::make_shared<std::string>();
  writer_.start([&stage, set = *output.staged, choice = std::move(choice), path = output.path,
                 told = output.told](const comm::Communicator& comm) {
    const io::CarriedContent content = stage.open(comm, set, [&](const std::string& text) { *told += text; });
    return io::write_of_run(comm, choice.kind, path,
                            [&](const std::string& place) { return io::write_carried(comm, content, choice, place); });
  });
  if (output.what == "checkpoint") {
    pending_->output = output;
    note_staged();
  }
  under_way_ = std::move(output);
  return true;
}

void Outputs::leave_stage(const Output& output) {
  if (!output.staged) return;
  if (output.what == "checkpoint" && compute_.rank() == 0) io::remove_staged_note(output.path);
  staging_.of(*output.config).remove(*output.staged);
}

// What counts stays until something newer does, though its file could not be written. The first rank knows whether.
void Outputs::lose_staged(const Output& output, bool is_noted) {
  if (!compute_.broadcast(is_noted)) return leave_stage(output);
  leave_kept();
  kept_ = output;
  say_("what was staged of it stays on the disks of the nodes, and a restart writes it and begins with it");
}

void Outputs::leave_kept() {
  if (kept_) leave_stage(*std::exchange(kept_, std::nullopt));
}

// Where results of before are there, a restart need not wait for the file. By the first rank.
void Outputs::note_staged() {
  const Output& output = pending_->output;
  if (compute_.rank() != 0 || !output.staged || pending_->is_noted || !pending_->is_whole) return;
  const couple::Session::Outlook before = session_.outlook(pending_->after);
  if (!before.is_done || !before.are_written) return;
  try {
    io::write_staged_note(output.path,
                          note_of(*output.config, *output.staged, nlohmann::json(physics_of(config_)).dump()));
    pending_->is_noted = true;
    session_.log().write("checkpoint_staged", {{"step", output.step}, {"path", output.path}});
  } catch (const std::exception& error) {
    if (std::exchange(pending_->is_note_problem_told, true)) return;
    say_(fmt::format("a restart cannot begin with what is staged\n{}", error.what()));
  }
}

}  // namespace sidestream::sims
