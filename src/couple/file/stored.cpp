#include "sidestream/couple/stored.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "couple/bill_event.hpp"
#include "couple/books.hpp"
#include "couple/entries.hpp"
#include "couple/file/stored_tasks.hpp"
#include "couple/task_runner.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/io/read_ahead.hpp"

namespace sidestream::couple {

namespace {

// A snapshot that was stored.
struct Stored {
  std::int64_t step = 0;
  std::string grid;
  auto operator<=>(const Stored&) const = default;
};

// All ranks see what the first one does: others may write results and snapshots meanwhile.
std::vector<Stored> stored_in(const comm::Communicator& world, const io::RunFolder& folder,
                              const std::vector<Task>& tasks) {
  std::set<std::string> grids;
  for (const Task& task : tasks) grids.insert(task.grid);
  std::vector<Stored> all;
  for (const std::string& grid : grids) {
    const nlohmann::json steps = world.rank() == 0 ? folder.stored_steps(grid) : std::vector<std::int64_t>{};
    for (const nlohmann::json& step : nlohmann::json::parse(world.broadcast(steps.dump())))
      all.push_back({step.get<std::int64_t>(), grid});
  }
  std::ranges::sort(all);
  world.agree_on([&] {
    if (all.empty())
      throw core::Error("no snapshot was stored", folder.snapshots(),
                        "tasks with `transport = \"file\"` leave them, when they are due");
  });
  return all;
}

io::EventLog open_log(const comm::Communicator& world, const io::RunFolder& folder, const std::string& group) {
  io::EventLog log;
  world.agree_on(
      [&] { log = io::EventLog(world.rank() == 0 ? folder.events(group) : "", io::EventLog::Clock::now()); });
  return log;
}

class StoredAnalysis {
 public:
  using Tell = std::function<void(const std::string& line)>;

  StoredAnalysis(const comm::Communicator& world, const CouplingConfig& config, const io::RunFolder& folder,
                 core::Bill& bill, const Tell& tell)
      : world_(world),
        config_(config),
        folder_(folder),
        bill_(bill),
        tell_([&world, &tell](const std::string& line) {
          if (world.rank() == 0) tell(line);
        }),
        log_(open_log(world, folder, "analyze")),
        books_(config.tasks, log_),
        runner_(world, folder, log_, bill, tell_, config.timeout_s) {}

  std::vector<TaskTotals> operator()(const std::vector<Stored>& all) {
    log_.write("analyze_start", {{"ranks", world_.size()}, {"snapshots", all.size()}});
    bill_.begin_rest();
    for (auto next = all.begin(); next != all.end();) {
      const Stored& snapshot = *next++;
      const io::ReadAhead ahead(path_of(snapshot), next != all.end() ? path_of(*next) : "");
      analyze(snapshot);
    }
    log_.write("bill", summed(world_, bill_));
    std::vector<TaskTotals> totals;
    for (std::size_t task = 0; task < config_.tasks.size() && world_.rank() == 0; ++task)
      if (is_stored(task)) totals.push_back(books_.of(task));
    log_.write("analyze_end", {{"wall_s", bill_.wall_s()}});
    return totals;
  }

 private:
  std::string path_of(const Stored& snapshot) const { return folder_.snapshot(snapshot.step, snapshot.grid); }

  bool is_stored(std::size_t task) const { return config_.tasks[task].transport->name == file().name; }

  void analyze(const Stored& snapshot) {
    const std::int64_t step = snapshot.step;
    const std::vector<std::size_t> missing = missing_at(snapshot);
    if (missing.empty()) return;
    const core::Stopwatch watch;
    std::optional<mesh::Snapshot> opened;
    std::vector<std::size_t> tasks;
    std::string problem;
    try {
      const core::Bill::Part part = bill_.part("reading snapshots", "tasks");
      opened = io::open_snapshot(world_, path_of(snapshot));
      tasks = waiting(*opened, missing);
    } catch (const std::exception& error) {
      problem = error.what();
      tasks = missing;
    }
    const double open_s = watch.seconds();
    std::vector<std::string> names;
    for (const std::size_t task : tasks) {
      names.push_back(config_.tasks[task].name);
      if (config_.tasks[task].analysis->looks_back()) begun_.insert(task);
      if (problem.empty())
        runner_.run(config_.tasks[task], *opened, {.transport = file().name, .bytes = 0, .wait_s = open_s},
                    books_.of(task));
      else
        runner_.report_failure(config_.tasks[task], step, "its snapshot cannot be read: " + problem, books_.of(task));
    }
    if (!names.empty()) tell_(fmt::format("step {}: {}, {:.2f} s", step, fmt::join(names, ", "), watch.seconds()));
  }

  // Those whose results are not there, or compare with one that was made here.
  std::vector<std::size_t> missing_at(const Stored& snapshot) const {
    std::vector<std::size_t> missing;
    for (std::size_t task = 0; task < config_.tasks.size(); ++task) {
      if (!is_stored(task) || config_.tasks[task].grid != snapshot.grid) continue;
      const bool is_there = std::filesystem::exists(folder_.result(config_.tasks[task].name, snapshot.step));
      if (!world_.broadcast(is_there) || begun_.contains(task)) missing.push_back(task);
    }
    return missing;
  }

  // Those for which the snapshot was stored.
  std::vector<std::size_t> waiting(const mesh::Snapshot& opened, const std::vector<std::size_t>& tasks) const {
    std::set<std::string> names;
    if (const auto text = opened.texts.find(stored_tasks_text); text != opened.texts.end())
      names = nlohmann::json::parse(text->second).get<std::set<std::string>>();
    std::vector<std::size_t> found;
    std::ranges::copy_if(tasks, std::back_inserter(found),
                         [&](std::size_t task) { return names.contains(config_.tasks[task].name); });
    return found;
  }

  const comm::Communicator& world_;
  const CouplingConfig& config_;
  const io::RunFolder& folder_;
  core::Bill& bill_;
  Tell tell_;
  io::EventLog log_;
  Books books_;
  TaskRunner runner_;
  std::set<std::size_t> begun_;  // tasks that look back and of which a result was made here
};

}  // namespace

std::vector<TaskTotals> analyze_stored(const comm::Communicator& world, const CouplingConfig& config,
                                       const io::RunFolder& folder, core::Bill& bill,
                                       const std::function<void(const std::string& line)>& tell) {
  const std::vector<Stored> all = stored_in(world, folder, config.tasks);
  return StoredAnalysis(world, config, folder, bill, tell)(all);
}

std::vector<TaskTotals> analyze_snapshot(const comm::Communicator& world, const CouplingConfig& config,
                                         const mesh::Snapshot& snapshot, const io::RunFolder& folder,
                                         const std::string& group, core::Bill& bill,
                                         const std::function<void(const Task& task)>& prepare,
                                         const std::function<void(const std::string& line)>& tell) {
  io::EventLog log = open_log(world, folder, group);
  Books books(config.tasks, log);
  const Session::Warn warn = [&](const std::string& line) {
    if (world.rank() == 0) tell(line);
  };
  TaskRunner runner(world, folder, log, bill, warn, config.timeout_s);
  log.write("analyze_start", {{"ranks", world.size()}, {"snapshots", 1}});
  bill.begin_rest();
  std::vector<TaskTotals> totals;
  for (std::size_t task = 0; task < config.tasks.size(); ++task) {
    const core::Stopwatch watch;
    prepare(config.tasks[task]);
    runner.run(config.tasks[task], snapshot, {.transport = file().name, .bytes = 0, .wait_s = 0.0}, books.of(task));
    warn(fmt::format("step {}: {}, {:.2f} s", snapshot.moment.step, config.tasks[task].name, watch.seconds()));
    if (world.rank() == 0) totals.push_back(books.of(task));
  }
  log.write("bill", summed(world, bill));
  log.write("analyze_end", {{"wall_s", bill.wall_s()}});
  return totals;
}

}  // namespace sidestream::couple
