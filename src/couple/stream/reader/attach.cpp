#include "sidestream/couple/attach.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "couple/bill_event.hpp"
#include "couple/books.hpp"
#include "couple/task_runner.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/event_log.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

io::EventLog open_log(const comm::Communicator& world, const io::RunFolder& folder, const std::string& task) {
  io::EventLog log;
  world.agree_on([&] {
    log = io::EventLog(world.rank() == 0 ? folder.events("attach." + task) : "", io::EventLog::Clock::now());
  });
  return log;
}

}  // namespace

namespace {

/// The steps of each run whose results a job that has attached has written, with the parameters that the task has now.
class DoneSteps {
 public:
  DoneSteps(const std::string& events, const std::string& parameters) {
    std::ifstream lines(events);
    std::string run;
    for (std::string line; std::getline(lines, line);) {
      const json event = json::parse(line, nullptr, false);
      if (!event.is_object()) continue;
      if (event.value("event", "") == "attach_start")
        run = event.value("parameters", "") == parameters ? event.value("run", "") : "";
      if (event.value("event", "") == "attach_step" && event.value("is_there", false))
        add(event.value("run", run) == run ? run : "", event.value("step", std::int64_t{-1}));
    }
  }

  void add(const std::string& run, std::int64_t step) { steps_.insert({run, step}); }
  bool have(const std::string& run, std::int64_t step) const { return !run.empty() && steps_.contains({run, step}); }

 private:
  std::set<std::pair<std::string, std::int64_t>> steps_;
};

}  // namespace

TaskTotals attach(const comm::Communicator& world, StreamReader& reader, const Task& task, const io::RunFolder& folder,
                  core::Bill& bill, const std::function<void(const std::string& line)>& tell) {
  const auto say = [&](const std::string& line) {
    if (world.rank() == 0) tell(line);
  };
  DoneSteps done(world.rank() == 0 ? folder.events("attach." + task.name) : "", task.parameters);
  io::EventLog log = open_log(world, folder, task.name);
  const std::vector<Task> tasks{task};
  Books books(tasks, log);
  TaskRunner runner(world, folder, log, bill, say, task.deadline_s.value_or(3600.0));
  log.write("attach_start",
            {{"ranks", world.size()}, {"task", task.name}, {"run", reader.run()}, {"parameters", task.parameters}});
  bill.begin_rest();
  bool has_begun = false;
  while (true) {
    std::optional<mesh::Snapshot> snapshot;
    {
      const core::Bill::Part part = bill.part("idle: waiting for a step", "simulation");
      snapshot = reader.next();
    }
    if (!snapshot) break;
    const std::int64_t step = snapshot->moment.step;
    if (!std::exchange(has_begun, true)) runner.begin_at(step);
    const core::Stopwatch watch;
    const bool is_there =
        world.broadcast(done.have(reader.run(), step) && std::filesystem::exists(folder.result(task.name, step)));
    if (is_there)
      runner.begin_at(step);  // a task that looks back compares the next step with it
    else
      runner.run(task, *snapshot, {.transport = "stream", .bytes = 0, .wait_s = reader.counts().transfer_s},
                 books.of(0));
    const bool has_result = std::filesystem::exists(folder.result(task.name, step));
    if (has_result) done.add(reader.run(), step);
    reader.acknowledge();
    const ReaderCounts& counts = reader.counts();
    log.write("attach_step", {{"step", step},
                              {"transfer_s", counts.transfer_s},
                              {"redistribute_s", counts.redistribute_s},
                              {"bytes", counts.bytes},
                              {"messages", counts.messages},
                              {"technique", counts.technique},
                              {"dropped", counts.dropped},
                              {"run", reader.run()},
                              {"is_there", has_result},
                              {"was_there", is_there}});
    say(is_there ? fmt::format("step {}: {} was there", step, task.name)
                 : fmt::format("step {}: {}, {:.2f} s", step, task.name, watch.seconds()));
  }
  log.write("bill", summed(world, bill));
  log.write("attach_end", {{"reason", reader.ending()}, {"dropped", reader.counts().dropped}, {"lost", reader.lost()}});
  return books.of(0);
}

}  // namespace sidestream::couple
