#include "sims/run/outputs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/carried_content.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/generations.hpp"
#include "sidestream/io/pending.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "sims/checks/same_physics.hpp"
#include "sims/checks/task_files.hpp"
#include "sims/config/run_knobs.hpp"
#include "sims/config/writer_counts.hpp"

namespace sidestream::sims {

namespace {

// 0 for what somebody has removed meanwhile.
std::int64_t bytes_of(const std::filesystem::path& path) try {
  if (std::filesystem::is_regular_file(path)) return static_cast<std::int64_t>(std::filesystem::file_size(path));
  std::int64_t total = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.is_regular_file()) total += static_cast<std::int64_t>(entry.file_size());
  return total;
} catch (const std::filesystem::filesystem_error&) {
  return 0;
}

}  // namespace

Outputs::Outputs(const comm::Communicator& compute, RunConfig& config, couple::Session& session,
                 couple::Steering& steering, const io::RunFolder& folder, core::Bill& bill, Say say)
    : compute_(compute),
      config_(config),
      session_(session),
      steering_(steering),
      folder_(folder),
      bill_(bill),
      say_(std::move(say)),
      staging_(compute, config, folder.path()),
      writer_(compute) {
  for (const OutputConfig& plotfile : config.plotfiles) {
    session.schedule().add(trigger_of(plotfile), plotfile.trigger);
    last_plotfiles_.push_back(-1);
  }
  if (config.checkpoint) session.schedule().add(checkpoint_trigger(), config.checkpoint->trigger);
}

void Outputs::begin(bool is_restart) {
  if (is_restart) commit_staged(compute_, config_, folder_.path(), session_.log(), say_);
  staging_.clear();
}

std::vector<core::Error> Outputs::warnings() const {
  std::vector<core::Error> all = staging_.warnings();
  std::ranges::move(more_than_ranks(config_, compute_.size(), config_.coupling.sidecars_used()),
                    std::back_inserter(all));
  return all;
}

void Outputs::write_due(Simulation& simulation) {
  report_written(false);
  for (std::size_t p = 0; p < config_.plotfiles.size(); ++p)
    if (session_.schedule().is_due(trigger_of(config_.plotfiles[p])))
      write_plotfile(simulation, config_.plotfiles[p], last_plotfiles_[p]);
  if (config_.coupling.replay)
    repeat_checkpoint(simulation, couple::CheckpointPoint::outputs);
  else
    write_due_checkpoint(simulation);
}

void Outputs::write_due_checkpoint(Simulation& simulation) {
  const bool is_asked_for = session_.schedule().is_due(checkpoint_trigger());
  if (!is_asked_for && !is_put_off_) return;
  if (!pending_)
    write_checkpoint(simulation, couple::CheckpointPoint::outputs);
  else if (is_asked_for)
    put_off(simulation.moment().step);
}

// Whether one was put off was for the load to say.
bool Outputs::repeat_checkpoint(Simulation& simulation, couple::CheckpointPoint point) {
  if (!config_.checkpoint || !config_.coupling.replay->wrote_checkpoint(simulation.moment().step, point)) return false;
  commit_pending();
  write_checkpoint(simulation, point);
  return true;
}

// Somebody wishes for it and relies on what he is told: it is not put off, and not begun only.
nlohmann::json Outputs::write_by_hand(Simulation& simulation) {
  prepare_checkpoints();
  if (config_.coupling.replay) {
    repeat_checkpoint(simulation, couple::CheckpointPoint::by_hand);
    commit_pending();
    return nlohmann::json::object();
  }
  commit_pending();
  if (last_checkpoint_ == present(simulation) && !last_is_lost_)
    throw core::Error("a checkpoint of this step is there", folder_.path(), "ask for one after another step");
  const std::int64_t lost_before = lost_checkpoints_;
  write_checkpoint(simulation, couple::CheckpointPoint::by_hand);
  const std::string path = pending_ ? pending_->output.path : "";
  commit_pending();
  if (lost_checkpoints_ == lost_before && refused_.empty()) return {{"path", path}};
  if (!refused_.empty())
    throw core::Error("the checkpoint stays pending: results of before it, or a plot file, could not be written",
                      refused_, "make room; the warnings before this one say which file could not be written");
  throw core::Error("the checkpoint could not be written, as the event `checkpoint_failed` tells", folder_.path(),
                    "make room: `grep checkpoint_failed RUN/events.jsonl` says which file it was");
}

void Outputs::prepare_checkpoints() {
  if (config_.checkpoint) return;
  config_.checkpoint.emplace();
  config_.checkpoint->file.format = &io::formats().named(usual_checkpoint_format(config_.plan->has_equal_blocks()));
  config_.checkpoint->file.kind = io::FileKind::checkpoint;
}

void Outputs::repeat_last(Simulation& simulation) {
  if (config_.coupling.replay) repeat_checkpoint(simulation, couple::CheckpointPoint::end);
}

void Outputs::write_last(Simulation& simulation, bool may_go_on) {
  const std::int64_t step = simulation.moment().step;
  const bool is_wanted =
      may_go_on || is_put_off_ ||
      (config_.coupling.replay && config_.coupling.replay->wrote_checkpoint(step, couple::CheckpointPoint::end));
  if (config_.checkpoint && is_wanted && last_checkpoint_ != present(simulation)) {
    commit_pending();
    write_checkpoint(simulation, couple::CheckpointPoint::end);
  }
  finish_writing();
}

void Outputs::write_plotfile(Simulation& simulation, const OutputConfig& config, std::int64_t& last) {
  const std::int64_t step = simulation.moment().step;
  if (std::exchange(last, step) == step) return;
  const std::string folder = folder_.path() + (config.task.empty() ? "" : "/" + config.task);
  const std::string path = folder + "/" + config.file.format->plotfile->of(step);
  write({"plotfile", path, &config, step}, simulation, config.file);
}

void Outputs::write_checkpoint(Simulation& simulation, couple::CheckpointPoint point) {
  const std::int64_t step = simulation.moment().step;
  steering_.blaming([&] { core::timed(bill_, "making the content", [&] { simulation.check_state(); }); });
  is_put_off_ = false;
  last_checkpoint_ = present(simulation);
  last_is_lost_ = false;
  session_.log().write("checkpoint_begun", {{"step", step}, {"among", couple::in_words(point)}});
  const OutputConfig& config = *config_.checkpoint;
  const std::string path = folder_.path() + "/" + config.file.format->checkpoint->of(step);
  io::FileChoice choice = config.file;
  if (std::string memory = session_.schedule().memory(); !memory.empty())
    choice.texts[triggers_text] = std::move(memory);
  if (std::string steered = steering_.memory(); !steered.empty()) choice.texts[steering_text] = std::move(steered);
  choice.texts[physics_text] = nlohmann::json(physics_of(config_)).dump();
  if (!config_.task_files.empty()) choice.texts[task_files_text] = nlohmann::json(config_.task_files).dump();
  const Output output{"checkpoint", path, &config, step};
  Pending pending;
  pending.output = output;
  pending.after = session_.mark();
  pending.is_whole = lost_plotfiles_ == 0;
  pending_ = std::move(pending);
  write(output, simulation, std::move(choice));
}

// Were it written now, two would be pending, then three: none would ever be the newest long enough to be committed by
// an analysis that is slower than the checkpoints.
void Outputs::put_off(std::int64_t step) {
  is_put_off_ = true;
  ++pending_->put_off;
  session_.log().write("checkpoint_put_off",
                       {{"step", step}, {"path", pending_->output.path}, {"pending_step", pending_->output.step}});
}

void Outputs::write(Output output, Simulation& simulation, io::FileChoice choice) {
  const std::string kind = output.kind();
  const core::Stopwatch watch;
  report_written(true);
  output.wait_s = watch.seconds();
  choice.texts[io::config_text] = resolved();
  if (!output.config->grid.empty()) choice.texts[io::grid_text] = output.config->grid;
  mesh::Snapshot snapshot;
  {
    const core::Bill::Part part = bill_.part("making the content", kind);
    snapshot = config_.snapshot_of(simulation);
    if (!snapshot.has_grid(output.config->grid))
      return report(output, {.statistics = {},
                             .seconds = 0.0,
                             .error = "the simulation does not show the grid `" + output.config->grid + "` now"});
    io::prepare(snapshot.on_grid(output.config->grid), choice);
  }
  const mesh::Snapshot& on_grid = snapshot.on_grid(output.config->grid);
  if (output.config->carried && carry(output, on_grid, choice)) return;
  if (!output.config->stage.empty() && stage(output, on_grid, choice)) return;
  const auto write_file = [path = output.path](const comm::Communicator& comm, const mesh::Snapshot& state,
                                               const io::FileChoice& what) {
    return io::write_of_run(comm, what.kind, path,
                            [&](const std::string& place) { return io::write_snapshot(comm, state, what, place); });
  };
  output.is_asynchronous = output.config->is_asynchronous;
  if (output.is_asynchronous) {
    const core::Bill::Part part = bill_.part("copying", kind);
    const core::Stopwatch copy_watch;
    const auto copy = std::make_shared<const mesh::Snapshot>(io::copy_of(compute_, on_grid, choice));
    output.copy_s = copy_watch.seconds();
    writer_.start([copy, choice = std::move(choice), write_file](const comm::Communicator& comm) {
      return write_file(comm, *copy, choice);
    });
    under_way_ = std::move(output);
    return;
  }
  const core::Bill::Part part = bill_.part("writing", kind);
  io::BackgroundWriter::Outcome outcome;
  const core::Stopwatch write_watch;
  try {
    outcome.statistics = write_file(compute_, on_grid, choice);
  } catch (const core::Error& error) {
    outcome.error = error.what();
  }
  outcome.seconds = write_watch.seconds();
  report(output, outcome);
}

// Returns whether sidecars do it.
bool Outputs::carry(Output& output, const mesh::Snapshot& snapshot, io::FileChoice choice) {
  const io::CarriedContent content = io::carried_content(compute_, snapshot, choice);
  const couple::Transport::Carried carried =
      session_.publish_file(content.state, {*output.config->carried, output.path, content.rest});
  if (carried.number == 0) return false;
  output.is_carried = output.is_asynchronous = true;
  output.copy_s = carried.charge.pack_s;
  output.wait_s += carried.charge.wait_s;
  if (output.what == "checkpoint") pending_->after = session_.mark();
  if (compute_.rank() == 0) carried_.push_back({std::move(output), carried.number});
  return true;
}

// What came before a file that is lost is told before that.
Outputs::Commit Outputs::hear_of_carried() {
  while (lost_.empty() && !carried_.empty()) {
    const Output& output = carried_.front().output;
    const auto outcome = session_.outcome_of(carried_.front().number);
    if (!outcome) break;
    if (!outcome->error.empty()) {
      lost_ = outcome->error;
      break;
    }
    if (output.what == "checkpoint") become_written();
    report_file(output, outcome->seconds, nlohmann::json::parse(outcome->io));
    carried_.pop_front();
  }
  if (lost_.empty()) return Commit::none;
  const Output& output = carried_.front().output;
  return output.what == "checkpoint"       ? Commit::lost_checkpoint
         : output.config->stops_on_failure ? Commit::lost_plotfile_that_stops
                                           : Commit::lost_plotfile;
}

// Other ranks than the first need not know which one it is.
void Outputs::take_loss(Commit loss) {
  Output output{loss == Commit::lost_checkpoint ? "checkpoint" : "plotfile", "", nullptr, 0};
  if (!carried_.empty()) {
    output = std::move(carried_.front().output);
    carried_.pop_front();
  }
  const std::string problem = std::exchange(lost_, "");
  loss == Commit::lost_checkpoint ? lose_pending() : lose_plotfile(output.step);
  const bool stops =
      loss == Commit::lost_checkpoint ? config_.checkpoint->stops_on_failure : loss == Commit::lost_plotfile_that_stops;
  report_failure(output, problem, stops);
}

void Outputs::end() {
  if (!kept_) staging_.clear();
}

// The configuration with what was steered.
std::string Outputs::resolved() const {
  const auto settings = steering_.settings();
  if (settings.empty()) return config_.resolved;
  core::Node root = core::parse_toml(config_.resolved, "the configuration");
  for (const auto& [name, value] : settings) core::override_key(root, name + "=" + core::value_to_toml(value));
  return core::to_toml(root);
}

// Tells of a file that was written in the background, with `wait` after waiting for it.
void Outputs::report_written(bool wait) {
  if (!under_way_) return;
  const core::Bill::Part part = bill_.part("waiting for the file under way", under_way_->kind());
  const core::Stopwatch watch;
  const auto outcome = writer_.finish(wait);
  if (!outcome) return;
  under_way_->wait_s += watch.seconds();
  const Output output = std::move(*under_way_);
  under_way_.reset();
  report(output, *outcome);
}

// A file that cannot be written is reported; the run goes on unless it was told to stop.
void Outputs::report(const Output& output, const io::BackgroundWriter::Outcome& outcome) {
  const bool is_checkpoint = output.what == "checkpoint";
  if (output.told && !output.told->empty()) say_(*output.told);
  if (!outcome.error.empty()) {
    if (is_checkpoint) note_staged();
    const bool is_noted = is_checkpoint && pending_->is_noted;
    is_checkpoint ? lose_pending() : lose_plotfile(output.step);
    report_failure(output, outcome.error, output.config->stops_on_failure);
    return lose_staged(output, is_noted);
  }
  is_checkpoint ? become_written() : leave_stage(output);
  const io::AccessStatistics statistics = io::total(compute_, outcome.statistics);
  tell_of_stripes(output, statistics);
  report_file(output, outcome.seconds, io::to_json(statistics));
}

void Outputs::become_written() {
  remove_refused();
  pending_->is_written = true;
  pending_->watch.restart();
}

void Outputs::report_file(const Output& output, double seconds, const nlohmann::json& statistics) {
  if (compute_.rank() != 0) return;
  session_.log().write(
      output.what, {{"step", output.step},
                    {"path", output.path},
                    {"format", output.config->file.format->name},
                    {"write_s", seconds},
                    {"asynchronous", output.is_asynchronous},
                    {"writers", output.is_carried ? "sidecars" : "compute"},
                    {"staged", output.staged.has_value()},
                    {"copy_s", output.copy_s},
                    {"wait_s", output.wait_s},
                    {"io", statistics},
                    {"bytes", bytes_of(output.what == "checkpoint" ? io::pending_path(output.path) : output.path)}});
}

// Once.
void Outputs::tell_of_stripes(const Output& output, const io::AccessStatistics& statistics) {
  const int wanted = output.config->file.options.stripes;
  if (wanted == 0 || statistics.stripes > 0 || stripes_are_told_) return;
  stripes_are_told_ = true;
  const std::string problem =
      fmt::format("the file system of {} tells of no stripes: it has none, or no `lfs` to set them by", output.path);
  session_.log().write("warning", {{"step", output.step},
                                   {"message", problem},
                                   {"where", output.path},
                                   {"hint", "leave `stripes` out; the files are as good without"}});
  say_(fmt::format("warning: {}\nhint: leave `stripes` out; the files are as good without", problem));
}

void Outputs::lose_pending() {
  pending_.reset();
  last_is_lost_ = true;
}

// A checkpoint that is pending comes after it, unless it is of a step before.
void Outputs::lose_plotfile(std::int64_t step) {
  ++lost_plotfiles_;
  if (pending_ && step <= pending_->output.step) pending_->is_whole = false;
}

void Outputs::report_failure(const Output& output, const std::string& problem, bool stops) {
  if (output.what == "checkpoint") ++lost_checkpoints_;
  session_.log().write(output.what + "_failed", {{"step", output.step}, {"path", output.path}, {"message", problem}});
  say_(fmt::format("the {} was not written, the run {}\n{}", output.what, stops ? "stops" : "goes on", problem));
  if (stops) failure_ = fmt::format("the {} could not be written", output.what);
}

void Outputs::report_refusal(const Pending& pending) {
  const std::string path = io::pending_path(pending.output.path);
  session_.log().write("checkpoint_refused", {{"step", pending.output.step}, {"path", path}});
  refused_ = path;
  last_is_lost_ = true;
}

// One is enough for who would rather go on without what is missing.
void Outputs::remove_refused() {
  const std::string path = std::exchange(refused_, "");
  if (compute_.rank() != 0 || path.empty()) return;
  try {
    io::remove_all(path);
  } catch (const std::exception& error) {
    say_(fmt::format("an old checkpoint could not be removed\n{}", error.what()));
  }
}

Outputs::Commit Outputs::step_commit() {
  if (compute_.rank() != 0) return Commit::none;
  if (const Commit loss = hear_of_carried(); loss != Commit::none) return loss;
  if (!pending_ || (!pending_->is_written && !pending_->output.staged)) return Commit::none;
  if (pending_->commit != Commit::none) return pending_->commit;
  const double timeout_s = config_.coupling.timeout_s;
  const couple::Session::Outlook before = session_.outlook(pending_->after);
  if (!before.is_done)
    return std::min(pending_->watch.seconds(), before.silence_s) > timeout_s ? Commit::silent : Commit::none;
  const bool is_refused = !pending_->is_whole || !before.are_written;
  if (is_refused && !pending_->is_written) return Commit::none;  // it may be under way
  if (is_refused) return pending_->commit = Commit::refused;
  const core::Bill::Part part = bill_.part("committing", "checkpoints");
  const Output& output = pending_->output;
  note_staged();
  if (!pending_->is_written) return Commit::none;
  try {
    io::commit(output.path);
    pending_->commit = Commit::done;
  } catch (const std::exception& error) {
    pending_->problem = error.what();
    return pending_->commit = Commit::failed;
  }
  try {
    if (output.config->keep > 0) io::remove_old_generations(folder_.path(), output.config->keep);
  } catch (const std::exception& error) {
    say_(fmt::format("an old checkpoint could not be removed\n{}", error.what()));
  }
  return pending_->commit;
}

void Outputs::take(Commit commit) {
  if (commit == Commit::none) return;
  if (commit >= Commit::lost_checkpoint) return take_loss(commit);
  if (commit == Commit::silent) return session_.wait_for(pending_->after);  // and give up together
  const core::Bill::Part part = bill_.part("committing", "checkpoints");
  const Pending pending = std::move(*pending_);
  pending_.reset();
  if (commit == Commit::failed) {
    report_failure(pending.output, pending.problem, pending.output.config->stops_on_failure);
    return lose_staged(pending.output, pending.is_noted);
  }
  leave_stage(pending.output);
  if (commit == Commit::refused) return report_refusal(pending);
  leave_kept();
  session_.log().write("checkpoint_committed", {{"step", pending.output.step},
                                                {"path", pending.output.path},
                                                {"pending_s", pending.watch.seconds()},
                                                {"put_off", pending.put_off}});
}

void Outputs::commit_pending() {
  report_written(true);
  const core::Bill::Part committing = bill_.part("committing", "checkpoints");  // by the first rank, for all
  if (pending_) {
    const core::Bill::Part part = bill_.part("waiting for analyses of before", "checkpoints");
    session_.wait_for(pending_->after);
  }
  for (Commit commit{}; (commit = Commit{compute_.max(static_cast<std::int64_t>(step_commit()))}) != Commit::none;)
    take(commit);
}

}  // namespace sidestream::sims
