#include "sidestream/sims/run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/io/background_writer.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/generations.hpp"

namespace sidestream::sims {

namespace {

// Set by a signal, read between steps: the only state a signal handler may touch.
volatile std::sig_atomic_t stop_signal = 0;

extern "C" void remember_stop_signal(int number) {
  stop_signal = number;
}

nlohmann::json machine() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string cpu = "unknown", line;
  for (std::ifstream info("/proc/cpuinfo"); std::getline(info, line);)
    if (line.starts_with("model name")) {
      cpu = line.substr(line.find(':') + 2);
      break;
    }
  return {{"host", host.data()}, {"cpu", cpu}, {"cores", sysconf(_SC_NPROCESSORS_ONLN)}};
}

std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text.data();
}

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

nlohmann::json totals_as_json(const std::vector<couple::TaskTotals>& totals) {
  nlohmann::json tasks = nlohmann::json::object();
  for (const auto& task : totals)
    tasks[task.task] = {{"count", task.count},   {"dropped", task.dropped}, {"failed", task.failed},
                        {"pack_s", task.pack_s}, {"wait_s", task.wait_s},   {"compute_s", task.compute_s},
                        {"bytes", task.bytes}};
  return tasks;
}

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

// One run on the ranks that compute: the loop over steps and what happens between them.
class Run {
 public:
  Run(const comm::Communicator& world, const comm::Communicator& compute, RunConfig& config, couple::Session& session,
      const io::RunFolder& folder, const std::function<void(const std::string&)>& progress)
      : world_(world),
        compute_(compute),
        config_(config),
        session_(session),
        folder_(folder),
        progress_(progress),
        simulation_(config.plan->make(compute, config.moments())),
        writer_(compute) {}

  RunStatus operator()(const RunStart& start) {
    write_start();
    begin(start);
    while (!simulation_->is_complete() && !must_stop()) {
      const core::Stopwatch watch;
      const std::int64_t before = simulation_->step();
      simulation_->advance();
      if (simulation_->step() == before) break;
      write_step(watch.seconds());
      publish();
      report_written(false);
      write_outputs(false);
    }
    const bool is_finished = simulation_->is_complete();
    const RunStatus status = is_finished              ? RunStatus::finished
                             : !stop_reason().empty() ? RunStatus::stopped
                             : was_signalled()        ? RunStatus::interrupted
                                                      : RunStatus::finished;
    if (status == RunStatus::stopped) say(fmt::format("the run ends here: {}", stop_reason()));
    if (status == RunStatus::stopped || end_ == End::late || end_ == End::told) prepare_last_checkpoint();
    if (!is_finished) write_outputs(true);
    report_written(true);
    write_end(status, session_.finish(was_signalled() ? couple::Drain::no : couple::Drain::yes));
    return status;
  }

 private:
  void begin(const RunStart& start) {
    if (start.existing == io::ExistingRun::resume) {
      resume();
    } else {
      if (start.file.empty())
        simulation_->initialize();
      else
        load(start.file);
      write_step(0.0);
      publish();
      write_outputs(false);
    }
    first_progress_ = simulation_->progress();
    loop_watch_.restart();
  }

  void load(const std::string& path) {
    std::unique_ptr<io::SnapshotFile> file;
    compute_.agree_on([&] { file = io::open_snapshot_file(path); });
    simulation_->restore(*file);
    session_.log().write("restart", {{"path", path}, {"step", simulation_->step()}});
    say(fmt::format("started from {}", path));
  }

  // Every checksum is verified while the state is read; a checkpoint that fails is named and the one before is tried.
  void resume() {
    const std::vector<io::Generation> generations = io::generations_in(compute_, folder_.path());
    std::string first_problem;
    for (const io::Generation& generation : generations) {
      try {
        load(generation.path);
        resume_triggers();
        return;
      } catch (const core::Error& error) {
        if (first_problem.empty()) first_problem = error.what();
        session_.log().write("checkpoint_skipped", {{"path", generation.path}, {"message", error.what()}});
        say(fmt::format("passed over the checkpoint {}\n{}", generation.path, error.what()));
      }
    }
    throw_on_all("there is no good checkpoint to restart from", folder_.path(),
                 first_problem.empty() ? "give the folder of a run that wrote checkpoints, or run without --restart"
                                       : "of the newest one: " + first_problem);
  }

  // What was due here was done before the checkpoint was written.
  void resume_triggers() {
    session_.is_due(simulation_->step(), simulation_->redshift());
    is_due(config_.plotfile);
    is_due(config_.checkpoint);
  }

  void publish() {
    session_.progress();
    if (session_.is_due(simulation_->step(), simulation_->redshift())) session_.publish(simulation_->snapshot());
  }

  bool is_due(std::optional<OutputConfig>& output) {
    return output && output->trigger.is_due(simulation_->step(), simulation_->redshift());
  }

  void write_outputs(bool is_last) {
    const std::int64_t step = simulation_->step();
    if (is_due(config_.plotfile) && step != last_plotfile_) {
      last_plotfile_ = step;
      const OutputConfig& output = *config_.plotfile;
      write("plotfile", output, output.format->plotfile->of(step), [&] {
        io::OwnedContent plot = simulation_->plot(output.variables);
        plot.content.precision = output.precision;
        return plot;
      });
    }
    const bool is_checkpoint_due = is_due(config_.checkpoint) && step > 0;
    if (!config_.checkpoint || step == last_checkpoint_ || !(is_checkpoint_due || is_last)) return;
    last_checkpoint_ = step;
    session_.settle();
    write("checkpoint", *config_.checkpoint, config_.checkpoint->format->checkpoint->of(step), [&] {
      io::OwnedContent state;
      state.content = simulation_->checkpoint();
      return state;
    });
  }

  // A file under way.
  struct Output {
    std::string what, path;
    const OutputConfig* config = nullptr;
    std::int64_t step = 0;
    double copy_s = 0.0, wait_s = 0.0;
  };

  template <typename F>
  void write(const std::string& what, const OutputConfig& config, const std::string& name, F content_of) {
    const core::Stopwatch watch;
    report_written(true);
    Output output{what, folder_.path() + "/" + name, &config, simulation_->step(), 0.0, watch.seconds()};
    io::OwnedContent content = content_of();
    content.content.config = config_.resolved;
    const auto write_file = [format = config.format, path = output.path, options = config.options](
                                const comm::Communicator& comm, const io::FileContent& state) {
      return format->write(comm, path, state, options);
    };
    if (config.is_asynchronous) {
      const core::Stopwatch copy_watch;
      io::OwnedContent copy = io::copy_of(content.content);
      output.copy_s = copy_watch.seconds();
      writer_.start(std::move(copy), write_file);
      under_way_ = output;
      return;
    }
    io::BackgroundWriter::Outcome outcome;
    const core::Stopwatch write_watch;
    try {
      outcome.statistics = write_file(compute_, content.content);
    } catch (const core::Error& error) {
      outcome.error = error.what();
    }
    outcome.seconds = write_watch.seconds();
    report(output, outcome);
  }

  // Tells of a file that was written in the background, with `wait` after waiting for it.
  void report_written(bool wait) {
    if (!under_way_) return;
    const core::Stopwatch watch;
    const auto outcome = writer_.finish(wait);
    if (!outcome) return;
    under_way_->wait_s += watch.seconds();
    report(*under_way_, *outcome);
    under_way_.reset();
  }

  // A file that cannot be written is reported; the run goes on unless it was told to stop.
  void report(const Output& output, const io::BackgroundWriter::Outcome& outcome) {
    nlohmann::json event{{"step", output.step}, {"path", output.path}};
    if (!outcome.error.empty()) {
      event["message"] = outcome.error;
      session_.log().write(output.what + "_failed", event);
      const bool stops = output.config->stops_on_failure;
      say(fmt::format("the {} was not written, the run {}\n{}", output.what, stops ? "stops" : "goes on",
                      outcome.error));
      if (stops) failure_ = fmt::format("the {} could not be written", output.what);
      return;
    }
    event.update({{"format", output.config->format->name},
                  {"write_s", outcome.seconds},
                  {"asynchronous", output.config->is_asynchronous},
                  {"copy_s", output.copy_s},
                  {"wait_s", output.wait_s},
                  {"io", io::to_json(io::total(compute_, outcome.statistics))}});
    if (compute_.rank() == 0) event["bytes"] = bytes_of(output.path);
    session_.log().write(output.what, event);
    if (output.what == "checkpoint" && output.config->keep > 0) remove_old_checkpoints(output.config->keep);
  }

  void remove_old_checkpoints(int keep) {
    try {
      if (compute_.rank() == 0) io::remove_old_generations(folder_.path(), keep);
    } catch (const std::exception& error) {
      say(fmt::format("an old checkpoint could not be removed\n{}", error.what()));
    }
  }

  // A run that cannot go on, or may not, leaves a checkpoint, asked for or not.
  void prepare_last_checkpoint() {
    if (config_.checkpoint) return;
    config_.checkpoint.emplace();
    config_.checkpoint->format = &io::format("sidestream");
    config_.checkpoint->trigger = couple::Trigger(0, {});
  }

  // Why the loop over steps ends before the simulation does; where ranks differ, the last of these counts.
  enum class End : std::int64_t {
    none,
    steps,        // `max_steps`
    late,         // `wall_time`
    interrupted,  // from the keyboard
    told,         // by a batch system
  };

  std::string stop_reason() const { return failure_.empty() ? simulation_->stop_reason() : failure_; }

  bool must_stop() {
    if (!stop_reason().empty()) return true;
    End end = End::none;
    if (config_.max_steps && simulation_->step() >= *config_.max_steps) end = End::steps;
    if (config_.wall_time_s && watch_.seconds() > *config_.wall_time_s) end = End::late;
    if (stop_signal != 0) end = stop_signal == SIGINT ? End::interrupted : End::told;
    stop_signal = 0;
    end_ = static_cast<End>(compute_.max(static_cast<std::int64_t>(end)));
    return end_ != End::none;
  }

  bool was_signalled() const { return end_ == End::interrupted || end_ == End::told; }

  void write_start() {
    nlohmann::json event = describe_world();
    event["machine"] = machine();
    event["started"] = now_as_text();
    session_.log().write("run_start", event);
  }

  nlohmann::json describe_world() const {
    nlohmann::json event = config_.plan->description();
    std::vector<std::string> tasks;
    for (const auto& task : config_.coupling.tasks) tasks.push_back(task.name);
    event.update({{"version", SIDESTREAM_VERSION},
                  {"simulation", config_.simulation},
                  {"ranks", world_.size()},
                  {"compute", compute_.size()},
                  {"sidecars", world_.size() - compute_.size()},
                  {"tasks", tasks}});
    return event;
  }

  void write_step(double wall_s) {
    nlohmann::json event = simulation_->status();
    event.update({{"step", simulation_->step()}, {"wall_s", wall_s}, {"progress", simulation_->progress()}});
    if (const auto z = simulation_->redshift()) event["redshift"] = *z;
    if (std::int64_t{simulation_->step()} > 0) event["left_s"] = seconds_left();
    session_.log().write("step", event);
    const auto z = simulation_->redshift();
    say(fmt::format("step {}{}  {:.0f} %  {:.2f} s a step", simulation_->step(), z ? fmt::format("  z {:.3f}", *z) : "",
                    100.0 * simulation_->progress(), wall_s));
  }

  double seconds_left() const {
    const double done = simulation_->progress() - first_progress_;
    return done > 0.0 ? loop_watch_.seconds() * (1.0 - simulation_->progress()) / done : 0.0;
  }

  void write_end(RunStatus status, const std::vector<couple::TaskTotals>& totals) {
    static constexpr std::array names{"finished", "interrupted", "stopped"};
    const double memory = compute_.max(peak_memory_mib());
    nlohmann::json event = simulation_->status();
    event.update(simulation_->summary());
    if (status == RunStatus::stopped) event["reason"] = stop_reason();
    event.update({{"status", names[static_cast<std::size_t>(status)]},
                  {"step", simulation_->step()},
                  {"progress", simulation_->progress()},
                  {"wall_s", watch_.seconds()},
                  {"steps", simulation_->step()},
                  {"tasks", totals_as_json(totals)},
                  {"peak_memory_mb", memory},
                  {"seconds_by_part", simulation_->seconds()}});
    session_.log().write("run_end", event);
  }

  void say(const std::string& line) const {
    if (compute_.rank() == 0 && progress_) progress_(line);
  }

  void throw_on_all(const std::string& what, const std::string& where, const std::string& hint) const {
    compute_.agree_on([&] { throw core::Error(what, where, hint); });
  }

  const comm::Communicator& world_;
  const comm::Communicator& compute_;
  RunConfig& config_;
  couple::Session& session_;
  const io::RunFolder& folder_;
  const std::function<void(const std::string&)>& progress_;
  std::unique_ptr<Simulation> simulation_;
  core::Stopwatch watch_, loop_watch_;
  io::BackgroundWriter writer_;
  std::optional<Output> under_way_;
  std::string failure_;  // why the run must stop, where it was told to when a file cannot be written
  std::int64_t last_plotfile_ = -1, last_checkpoint_ = -1;
  double first_progress_ = 0.0;
  End end_ = End::none;
};

}  // namespace

void catch_stop_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) std::signal(number, remember_stop_signal);
}

RunStatus run(const comm::Communicator& world, RunConfig config, const std::string& folder_path, const RunStart& start,
              const std::function<void(const std::string& line)>& progress) {
  const io::RunFolder folder = io::prepare_run_folder(world, folder_path, start.existing, config.resolved);
  couple::Session session(world, config.coupling, folder, progress);
  if (!session.computes()) {
    session.serve();
    return RunStatus::finished;
  }
  return Run(world, session.compute_group(), config, session, folder, progress)(start);
}

}  // namespace sidestream::sims
