#include "sidestream/sims/run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>

#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/io/event_log.hpp"

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

std::int64_t folder_bytes(const std::filesystem::path& path) {
  std::int64_t total = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.is_regular_file()) total += static_cast<std::int64_t>(entry.file_size());
  return total;
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
        simulation_(config.plan->make(compute, config.moments())) {}

  RunStatus operator()(io::ExistingRun existing) {
    write_start();
    begin(existing);
    while (!simulation_->is_complete() && !must_stop()) {
      const core::Stopwatch watch;
      const std::int64_t before = simulation_->step();
      simulation_->advance();
      if (simulation_->step() == before) break;
      write_step(watch.seconds());
      publish();
      write_outputs(false);
    }
    const bool is_finished = simulation_->is_complete();
    const RunStatus status = is_finished                           ? RunStatus::finished
                             : !simulation_->stop_reason().empty() ? RunStatus::stopped
                             : was_signalled_                      ? RunStatus::interrupted
                                                                   : RunStatus::finished;
    if (status == RunStatus::stopped) prepare_last_checkpoint();
    if (!is_finished) write_outputs(true);
    write_end(status, session_.finish(was_signalled_ ? couple::Drain::no : couple::Drain::yes));
    return status;
  }

 private:
  void begin(io::ExistingRun existing) {
    if (existing == io::ExistingRun::resume) {
      const io::FoundCheckpoint found = io::find_newest_checkpoint(compute_, folder_.path());
      for (const std::string& message : found.skipped) say("passed over a damaged checkpoint: " + message);
      if (found.path.empty())
        throw_on_all("there is no good checkpoint to restart from", folder_.path(),
                     "give the folder of a run that wrote checkpoints, or run without --restart");
      const io::Checkpoint checkpoint(compute_, found.path);
      simulation_->restore(checkpoint);
      session_.log().write("restart", {{"path", found.path}, {"step", simulation_->step()}});
      say(fmt::format("restarted from {}", found.path));
      // Triggers learn where the run stands; what was due here was done before the checkpoint was written.
      session_.is_due(simulation_->step(), simulation_->redshift());
      is_due(config_.plotfile);
      is_due(config_.checkpoint);
    } else {
      simulation_->initialize();
      write_step(0.0);
      publish();
      write_outputs(false);
    }
    first_progress_ = simulation_->progress();
    loop_watch_.restart();
  }

  void publish() {
    session_.progress();
    if (session_.is_due(simulation_->step(), simulation_->redshift())) session_.publish(simulation_->snapshot());
  }

  bool is_due(std::optional<OutputConfig>& output) {
    return output && output->trigger.is_due(simulation_->step(), simulation_->redshift());
  }

  void write_outputs(bool is_last) {
    if (is_due(config_.plotfile))
      write("plotfile", folder_.plotfile(simulation_->step()), [&](const std::string& path) {
        simulation_->write_plotfile(io::plotfile_format(config_.plotfile->format), path);
      });
    const bool is_checkpoint_due = is_due(config_.checkpoint) && simulation_->step() > 0;
    if (config_.checkpoint && (is_checkpoint_due || is_last))
      write("checkpoint", folder_.checkpoint(simulation_->step()), [&](const std::string& path) {
        io::CheckpointContent content = simulation_->checkpoint();
        content.config = config_.resolved;
        io::checkpoint_format(config_.checkpoint->format).write(compute_, path, content);
        if (compute_.rank() == 0 && config_.checkpoint->keep > 0)
          io::remove_old_checkpoints(folder_.path(), config_.checkpoint->keep);
      });
  }

  // A file that cannot be written is reported; the run goes on.
  template <typename F>
  void write(const std::string& what, const std::string& path, F write_to) {
    const core::Stopwatch watch;
    try {
      write_to(path);
      nlohmann::json event{{"step", simulation_->step()}, {"path", path}, {"write_s", watch.seconds()}};
      if (compute_.rank() == 0) event["bytes"] = folder_bytes(path);
      session_.log().write(what, event);
    } catch (const core::Error& error) {
      session_.log().write(what + "_failed",
                           {{"step", simulation_->step()}, {"path", path}, {"message", error.what()}});
      say(fmt::format("the {} was not written, the run goes on\n{}", what, error.what()));
    }
  }

  // A run that cannot go on leaves a checkpoint, asked for or not.
  void prepare_last_checkpoint() {
    say(fmt::format("the run ends here: {}", simulation_->stop_reason()));
    if (!config_.checkpoint)
      config_.checkpoint = OutputConfig{io::checkpoint_formats().front().name, couple::Trigger(0, {}), 0};
  }

  bool must_stop() {
    if (!simulation_->stop_reason().empty()) return true;
    const bool is_late = config_.wall_time_s && watch_.seconds() > *config_.wall_time_s;
    const bool is_long = config_.max_steps && simulation_->step() >= *config_.max_steps;
    const auto reason = compute_.max(std::int64_t{stop_signal != 0 ? 2 : is_late || is_long ? 1 : 0});
    was_signalled_ = reason == 2;
    stop_signal = 0;
    return reason != 0;
  }

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
    if (status == RunStatus::stopped) event["reason"] = simulation_->stop_reason();
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
  double first_progress_ = 0.0;
  bool was_signalled_ = false;
};

}  // namespace

void catch_stop_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) std::signal(number, remember_stop_signal);
}

RunStatus run(const comm::Communicator& world, RunConfig config, const std::string& folder_path,
              io::ExistingRun existing, const std::function<void(const std::string& line)>& progress) {
  const io::RunFolder folder = io::prepare_run_folder(world, folder_path, existing, config.resolved);
  couple::Session session(world, config.coupling, folder, progress);
  if (!session.computes()) {
    session.serve();
    return RunStatus::finished;
  }
  return Run(world, session.compute_group(), config, session, folder, progress)(existing);
}

}  // namespace sidestream::sims
