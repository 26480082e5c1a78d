#include "sims/run/between_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "sidestream/core/bill.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/instruction_set.hpp"
#include "sidestream/core/known_bytes.hpp"
#include "sidestream/core/machine.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/edit_array.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/steering.hpp"
#include "sidestream/fft/engine.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/generations.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/io/pending.hpp"
#include "sidestream/mesh/cell_condition.hpp"
#include "sims/checks/losses.hpp"
#include "sims/checks/start.hpp"
#include "sims/checks/task_files.hpp"
#include "sims/config/run_knobs.hpp"
#include "sims/run/outputs.hpp"
#include "sims/run/run_events.hpp"
#include "sims/run/stop_signals.hpp"

namespace sidestream::sims {

namespace {

// Reads no file that was read with the configuration again.
std::unique_ptr<Simulation> made(const comm::Communicator& compute, const RunConfig& config, core::Bill& bill) {
  const core::AnsweringReads answering(config.read);
  return config.plan->make(compute, config.landings(), bill);
}

}  // namespace

BetweenSteps::BetweenSteps(const comm::Communicator& world, const comm::Communicator& compute, RunConfig& config,
                           couple::Session& session, const io::RunFolder& folder, core::Bill& bill,
                           const std::function<void(const std::string&)>& progress)
    : world_(world),
      compute_(compute),
      config_(config),
      session_(session),
      folder_(folder),
      bill_(bill),
      progress_(progress),
      simulation_(made(compute, config, bill)),
      steering_(compute, session.log(), config.coupling.steering, config.coupling.replay),
      outputs_(compute, config, session, steering_, folder, bill, [this](const std::string& line) { say(line); }) {
  std::vector<couple::Knob> knobs =
      run_knobs(config, session.schedule(), [this] { return simulation_->moment().step; });
  std::ranges::move(simulation_->knobs(), std::back_inserter(knobs));
  steering_.open(std::move(knobs),
                 {simulation_->editable(), mesh::domain_of(config.plan->cells()), mesh::names_of(config.quantities()),
                  config.coupling.times.has_redshift, folder.path()},
                 {.edit = [this](const couple::RegionEdit& edit) { return this->edit(edit); },
                  .write_checkpoint = [this] { return outputs_.write_by_hand(*simulation_); }});
}

void BetweenSteps::begin(const RunStart& start) {
  tells_steps_ = start.tells_steps;
  going_on_ = start.going_on;
  replacing_ = start.replacing;
  write_start();
  bill_.begin_rest();
  outputs_.begin(start.existing == io::ExistingRun::resume);
  for (const core::Error& warning : outputs_.warnings()) warn(warning);
  if (start.existing == io::ExistingRun::resume) {
    resume();
    steering_.tell(simulation_->moment().step, simulation_->progress());
  } else {
    if (start.file.empty())
      core::timed(bill_, "rest of the start", [&] {
        const core::AnsweringReads answering(config_.read);
        simulation_->initialize();
      });
    else
      load(start.file, false);
    steering_.tell(simulation_->moment().step, simulation_->progress());
    write_step(0.0);
    publish(true);
    outputs_.write_due(*simulation_);
  }
  write_warnings();
  first_progress_ = simulation_->progress();
  loop_watch_.restart();
}

bool BetweenSteps::goes_on() {
  if (!simulation_->is_complete() && !ends_here()) return true;
  leave_steps(true);
  return false;
}

bool BetweenSteps::take_step() {
  const core::Stopwatch watch;
  const std::int64_t before = simulation_->moment().step;
  foresee();
  steering_.blaming([&] { core::timed(bill_, "rest of the step", [&] { simulation_->advance(); }); });
  if (simulation_->moment().step == before) return false;
  step_taken(watch.seconds());
  return true;
}

void BetweenSteps::step_taken(double wall_s) {
  write_step(wall_s);
  write_warnings();
  publish();
  outputs_.write_due(*simulation_);
}

RunStatus BetweenSteps::end(bool has_state) {
  if (!status_) leave_steps(has_state);
  RunStatus status = *status_;
  // A pending checkpoint relies on what waits in the queue; without one, a restart makes all of that again.
  const bool relies = outputs_.has_pending() || compute_.broadcast(outputs_.has_carried());
  const bool drops = was_signalled() && !relies && !config_.coupling.replay;
  const std::vector<couple::TaskTotals> totals = session_.finish(drops ? couple::Drain::no : couple::Drain::yes);
  outputs_.commit_pending();
  outputs_.end();
  steering_.close();
  // Earlier ones serve a restart.
  const bool has_checkpoint = !io::generations_in(folder_.path()).empty();
  const Losses losses(totals, outputs_.lost_plotfiles(), has_checkpoint ? 0 : outputs_.lost_checkpoints());
  if (compute_.broadcast(losses.are_any())) {
    if (status == RunStatus::finished) status = RunStatus::incomplete;
    report(losses);
  }
  write_end(status, totals, losses);
  return status;
}

// The end of the loop over steps: how it ended, and the last outputs.
void BetweenSteps::leave_steps(bool has_state) {
  const bool is_finished = simulation_->is_complete();
  const RunStatus status = is_finished              ? RunStatus::finished
                           : !stop_reason().empty() ? RunStatus::stopped
                           : was_signalled()        ? RunStatus::interrupted
                                                    : RunStatus::finished;
  status_ = status;
  if (has_state)
    steering_.blaming([&] { core::timed(bill_, "rest of the step", [&] { simulation_->check_state(); }); });
  if (status == RunStatus::stopped) say(fmt::format("the run ends here: {}", stop_reason()));
  // Not an error, but the exit code is not 0: `--quiet` does not hide why.
  if (status == RunStatus::interrupted && !tells_steps_)
    say(fmt::format("the run is interrupted after step {}", simulation_->moment().step));
  write_cause();
  if (status == RunStatus::stopped || end_ == End::late || end_ == End::steered || end_ == End::told)
    outputs_.prepare_checkpoints();
  if (has_state)
    outputs_.write_last(*simulation_, !is_finished);
  else
    outputs_.finish_writing();
}

// Where and by what is known on the ranks that compute only, or lies in a file.
nlohmann::json BetweenSteps::edit(couple::RegionEdit edit) {
  if (!edit.where.empty())
    edit.holds = std::make_shared<const std::vector<mesh::Field<double>>>(
        mesh::CellCondition(edit.where, couple::edit_condition).holds(config_.snapshot_of(*simulation_), edit.cells));
  if (edit.array)
    edit.values = std::make_shared<const mesh::Field<double>>(couple::read_edit_array(compute_, folder_.path(), edit));
  return simulation_->edit(edit);
}

// Returns what the triggers remember.
std::string BetweenSteps::load(const std::string& path, bool goes_on) {
  const core::Bill::Part part = bill_.part("reading the state", "simulation");
  const io::AccessStatistics before = io::reads_so_far();
  const mesh::Snapshot state = io::open_snapshot(compute_, path, [this](const mesh::Snapshot& file) {
    is_of_another_ = true;
    mesh::LevelLayouts blocks = simulation_->blocks_for(file);
    is_of_another_ = false;
    return blocks;
  });
  if (goes_on) take_settings(state);
  simulation_->restore(state);
  const io::AccessStatistics read = io::total(compute_, io::reads_since(before));
  session_.log().write("restart",
                       {{"path", path},
                        {"step", simulation_->moment().step},
                        {"read", {{"files", read.files}, {"reads", read.reads}, {"bytes", read.bytes_read}}}});
  say(fmt::format("started from {}", path));
  if (goes_on)
    for (const core::Error& warning : changed_task_files(config_.coupling.tasks, config_.task_files, state))
      warn(warning);
  const auto memory = state.texts.find(triggers_text);
  return memory == state.texts.end() ? "" : memory->second;
}

// What somebody has set in the run before stays set.
void BetweenSteps::take_settings(const mesh::Snapshot& checkpoint) {
  const auto memory = checkpoint.texts.find(steering_text);
  for (const std::string& setting : steering_.restore(memory == checkpoint.texts.end() ? "" : memory->second))
    say(fmt::format("goes on with {}, as it was steered", setting));
}

// Every checksum is verified while the state is read; a checkpoint that fails is named and the one before is tried. One
// that is whole and does not fit the program ends the run: going on from an older one would lose steps for nothing.
void BetweenSteps::resume() {
  const std::vector<io::Generation> generations = io::generations_in(compute_, folder_.path());
  std::string first_problem;
  for (const io::Generation& generation : generations) {
    try {
      // What was due there was done before it was written.
      session_.resume(simulation_->moment(), load(generation.path, true));
      if (compute_.rank() == 0) io::remove_pending(folder_.path());
      return;
    } catch (const core::Error& error) {
      if (is_of_another_) throw;
      if (first_problem.empty()) first_problem = error.what();
      session_.log().write("checkpoint_skipped", {{"path", generation.path}, {"message", error.what()}});
      say(fmt::format("passed over the checkpoint {}\n{}", generation.path, error.what()));
    }
  }
  compute_.agree_on([&] { throw no_checkpoint(folder_.path(), first_problem); });
}

void BetweenSteps::publish(bool is_start) {
  session_.progress();
  std::optional<mesh::Snapshot> present;
  const auto snapshot = [&]() -> const mesh::Snapshot& {
    if (!present) present = config_.snapshot_of(*simulation_);
    return *present;
  };
  if (!session_.is_due({simulation_->moment(), is_start, is_last_step(), wall_s_}, snapshot)) return;
  const core::Bill::Part part = bill_.part("publish: preparing", "tasks");
  session_.publish(snapshot());
}

bool BetweenSteps::is_last_step() const {
  return simulation_->is_complete() || (config_.max_steps && simulation_->moment().step >= *config_.max_steps);
}

std::string BetweenSteps::stop_reason() const {
  return outputs_.failure().empty() ? simulation_->stop_reason() : outputs_.failure();
}

// Between two steps: what somebody wants of the run, and whether it ends. While it is paused, transfers, checkpoints
// and the desk go on.
bool BetweenSteps::ends_here() {
  constexpr std::chrono::milliseconds pause{5};
  const std::int64_t step = simulation_->moment().step;
  steering_.at_step(step, simulation_->progress());
  outputs_.repeat_last(*simulation_);
  if (must_stop()) return true;
  if (!steering_.is_paused(step)) return false;
  const core::Bill::Part part = bill_.part("paused by hand", "program");
  say(fmt::format("paused after step {}", step));
  while (steering_.is_paused(step)) {
    std::this_thread::sleep_for(pause);
    session_.progress();
    steering_.at_step(step, simulation_->progress());
    if (must_stop()) return true;
  }
  say("the run goes on");
  return false;
}

BetweenSteps::End BetweenSteps::end_of_earlier_run(std::int64_t step) const {
  constexpr std::array ends{End::late, End::interrupted, End::told, End::steered};  // of the causes
  const std::optional<couple::EndCause> cause = config_.coupling.replay->end(step);
  return cause ? ends[static_cast<std::size_t>(*cause)] : End::none;
}

// What a later run needs to end at the same step.
void BetweenSteps::write_cause() {
  std::optional<couple::EndCause> cause;
  if (end_ == End::late) cause = couple::EndCause::wall_time;
  if (end_ == End::interrupted) cause = couple::EndCause::signal_of_user;
  if (end_ == End::told) cause = couple::EndCause::signal_of_system;
  if (end_ == End::steered) cause = couple::EndCause::steering;
  if (cause)
    session_.log().write("ended_early", {{"step", simulation_->moment().step}, {"by", couple::in_words(*cause)}});
}

bool BetweenSteps::must_stop() {
  if (!stop_reason().empty()) return true;
  const std::int64_t step = simulation_->moment().step;
  End end = End::none;
  if (config_.max_steps && step >= *config_.max_steps) end = End::steps;
  if (!config_.coupling.replay && config_.wall_time_s && watch_.seconds() > *config_.wall_time_s) end = End::late;
  if (config_.coupling.replay) end = std::max(end, end_of_earlier_run(step));
  if (steering_.is_stopped()) end = End::steered;
  if (const int signal = take_stop_signal(); signal != 0) end = signal == SIGINT ? End::interrupted : End::told;
  agree(end, outputs_.step_commit());
  return end_ != End::none;
}

// The ranks agree once a step, on one number. An end that another rank tells hides whether the checkpoint was
// committed, which is asked again, and the first rank's clock, which no trigger asks any more.
void BetweenSteps::agree(End end, Outputs::Commit commit) {
  constexpr std::int64_t commits = Outputs::commits, milliseconds = std::int64_t{1} << 50;
  const core::Bill::Part part = bill_.part("waiting for the slowest rank's step", "simulation");
  const auto own_ms = compute_.rank() == 0 ? static_cast<std::int64_t>(1e3 * watch_.seconds()) : 0;
  const std::int64_t mine = static_cast<std::int64_t>(end) * commits + static_cast<std::int64_t>(commit);
  const std::int64_t agreed = compute_.max(mine * milliseconds + own_ms);
  wall_s_ = 1e-3 * static_cast<double>(agreed % milliseconds);
  end_ = static_cast<End>(agreed / milliseconds / commits);
  outputs_.take(static_cast<Outputs::Commit>(agreed / milliseconds % commits));
}

void BetweenSteps::write_start() {
  nlohmann::json event = describe_world();
  event["machine"] = machine();
  event["instruction_set"] = core::instruction_set();
  event["started"] = core::present_time();
  session_.log().write("run_start", event);
}

nlohmann::json BetweenSteps::describe_world() const {
  nlohmann::json event = config_.plan->description();
  event.update({{"version", SIDESTREAM_VERSION},
                {"fft_engine", fft::engine},
                {"simulation", config_.simulation},
                {"ranks", world_.size()},
                {"compute", compute_.size()},
                {"sidecars", world_.size() - compute_.size()},
                {"tasks", names_of_tasks(config_)}});
  return event;
}

void BetweenSteps::write_step(double wall_s) {
  const core::Bill::Part part = bill_.part("events and messages", "program");
  const mesh::Moment moment = simulation_->moment();
  nlohmann::json event = simulation_->status();
  event.update({{"step", moment.step}, {"wall_s", wall_s}, {"progress", simulation_->progress()}});
  const auto z = moment.redshift();
  if (z) event["redshift"] = *z;
  if (moment.step > 0) event["left_s"] = seconds_left();
  session_.log().write("step", event);
  if (!tells_steps_) return;
  say(fmt::format("step {}{}  {:.0f} %  {:.2f} s a step", moment.step, z ? fmt::format("  z {:.3f}", *z) : "",
                  100.0 * simulation_->progress(), wall_s));
}

void BetweenSteps::write_warnings() {
  for (const core::Error& warning : simulation_->warnings()) warn(warning);
}

void BetweenSteps::warn(const core::Error& warning) {
  session_.log().write("warning", {{"step", simulation_->moment().step},
                                   {"message", warning.message()},
                                   {"where", warning.where()},
                                   {"hint", warning.hint()}});
  say(fmt::format("warning: {}\n  --> {}\nhint: {}", warning.message(), warning.where(), warning.hint()));
}

double BetweenSteps::seconds_left() const {
  const double done = simulation_->progress() - first_progress_;
  return done > 0.0 ? loop_watch_.seconds() * (1.0 - simulation_->progress()) / done : 0.0;
}

// Checkpoints that came after a loss are not committed.
std::string BetweenSteps::hint_for(const Losses& losses) const {
  if (losses.checkpoints > 0)
    return "the warnings above and the events `checkpoint_failed` say why; no restart is possible";
  if (!losses.can_be_made_again()) return "the warnings above and the events `analysis_failed` say why";
  if (is_interrupted()) return fmt::format("go on with {}, which makes them again", going_on_);
  return io::generations_in(folder_.path()).empty()
             ? fmt::format("there is no checkpoint of before: make room, then run again with {}", replacing_)
             : fmt::format(
                   "make room, then go on with {}: it begins with the newest checkpoint of before and makes "
                   "them again",
                   going_on_);
}

void BetweenSteps::report(const Losses& losses) const {
  session_.log().write("results_lost", {{"tasks", losses.of_tasks},
                                        {"results", losses.results},
                                        {"unwritten", losses.unwritten},
                                        {"plotfiles", losses.plotfiles},
                                        {"checkpoints", losses.checkpoints},
                                        {"message", losses.text}});
  say(core::Error(losses.text, folder_.path(), hint_for(losses)).what());
}

void BetweenSteps::write_end(RunStatus status, const std::vector<couple::TaskTotals>& totals, const Losses& losses) {
  const core::Bill::Part part = bill_.part("events and messages", "program");
  static constexpr std::array names{"finished", "incomplete", "interrupted", "stopped"};
  const double memory = compute_.max(peak_memory_mb());
  nlohmann::json event = simulation_->status();
  event.update(simulation_->summary());
  if (status == RunStatus::stopped) event["reason"] = stop_reason();
  if (status == RunStatus::incomplete) event["reason"] = losses.text;
  if (losses.are_any())
    event["lost"] = {{"results", losses.results}, {"plotfiles", losses.plotfiles}, {"checkpoints", losses.checkpoints}};
  event.update({{"status", names[static_cast<std::size_t>(status)]},
                {"step", simulation_->moment().step},
                {"progress", simulation_->progress()},
                {"wall_s", watch_.seconds()},
                {"steps", simulation_->moment().step},
                {"tasks", totals_as_json(totals)},
                {"peak_memory_mb", memory}});
  session_.write_bill();
  session_.log().write("run_end", event);
}

void BetweenSteps::say(const std::string& line) const {
  if (compute_.rank() == 0 && progress_) progress_(line);
}

}  // namespace sidestream::sims
