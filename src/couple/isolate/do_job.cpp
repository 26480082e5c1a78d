#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "couple/books.hpp"
#include "couple/isolate/order.hpp"
#include "couple/publish/block_messages.hpp"
#include "couple/publish/particle_cargo.hpp"
#include "couple/task_runner.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/couple/isolated_job.hpp"
#include "sidestream/io/event_log.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

JobOrder read_order(const comm::Communicator& world, const std::optional<JobMemory>& memory,
                    const std::vector<Task>& tasks) {
  const JobOrder order = order_from(world.broadcast(memory ? memory->order() : ""), tasks.size(), world.size());
  world.agree_on([&] {
    core::require(order.loans.size() == static_cast<std::size_t>(world.size()) && order.task < tasks.size() &&
                      tasks[order.task].isolation,
                  "a job has the ranks and the configuration of its run");
  });
  return order;
}

// On the clock of the other logs.
io::EventLog open_log(const comm::Communicator& world, const io::RunFolder& folder, double clock_s) {
  using Clock = io::EventLog::Clock;
  const Clock::time_point start(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(clock_s)));
  io::EventLog log("", start);
  world.agree_on([&] {
    if (world.rank() == 0) log = io::EventLog(folder.events("isolated"), start);
  });
  return log;
}

// The fields are views of what the rank of the same number of the run has written, the only copy.
mesh::Snapshot borrow_snapshot(const comm::Communicator& world, JobOrder& order) {
  const auto rank = static_cast<std::size_t>(world.rank());
  const Loan& loan = order.loans[rank];
  mesh::Snapshot snapshot = std::move(order.head);
  snapshot.rank = world.rank();
  const Route route(snapshot.levels, world.rank(), snapshot.levels, 0, std::vector<bool>(order.loans.size(), true));
  const std::vector<std::int64_t> particle_words(route.peers().size(), loan.particle_words);
  const auto cargo = std::make_shared<Cargo>(route.cargo(order.announcement.fields.size(), particle_words));
  world.agree_on([&] {
    if (loan.words == 0) return;
    std::optional<comm::SharedMemory> memory = comm::SharedMemory::borrow(loan.address);
    if (!memory)
      throw core::Error("the memory of the run cannot be reached", "rank " + std::to_string(rank),
                        "let jobs of one user see each other's memory, or take `transport = \"file\"`");
    memory->protect();
    cargo->borrow(0, std::move(*memory));
  });
  for (std::size_t f = 0; f < order.announcement.fields.size(); ++f)
    snapshot.add({order.announcement.fields[f].name, order.announcement.fields[f].unit},
                 [views = route.views(cargo, f)](int level) { return views[static_cast<std::size_t>(level)]; });
  add_particles(order.announcement.particles, *cargo, snapshot);
  return snapshot;
}

/// As long as this lives, what the process asks for beyond so many bytes beside what it has already is refused by the
/// system; 0: nothing is.
class MemoryLimit {
 public:
  explicit MemoryLimit(double bytes) {
    core::require(::getrlimit(RLIMIT_AS, &before_) == 0, "a process may ask for its limits");
    if (bytes > 0.0) limit(bytes);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  void limit(double bytes) const;

  rlimit before_{};
};

void MemoryLimit::limit(double bytes) const {
  std::ifstream file("/proc/self/statm");
  double pages = 0.0;
  file >> pages;
  const auto most = static_cast<rlim_t>(pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) + bytes);
  const rlimit lower{std::min(most, before_.rlim_cur), before_.rlim_max};
  core::require(::setrlimit(RLIMIT_AS, &lower) == 0, "a process may limit its memory");
}

}  // namespace

void do_job(const comm::Communicator& world, const CouplingConfig& config, const io::RunFolder& folder,
            core::Bill& bill, const std::string& address) {
  std::optional<JobMemory> memory;
  world.agree_on([&] {
    if (world.rank() == 0) memory = JobMemory::borrow(address);
  });
  JobOrder order = read_order(world, memory, config.tasks);
  const Task& task = config.tasks[order.task];
  io::EventLog log = open_log(world, folder, order.clock_s);
  Books books(config.tasks, log);
  json warnings = json::array();
  TaskRunner runner(
      world, folder, log, bill, [&](const std::string& text) { warnings.push_back(text); }, task.isolation->deadline_s);
  runner.begin_at(order.newest_result);
  const mesh::Snapshot snapshot = borrow_snapshot(world, order);

  Finding finding;
  {
    const MemoryLimit limit(task.isolation->memory_bytes);
    finding = runner.analyse(task, snapshot, {.transport = task.transport->name, .bytes = order.bytes});
  }
  runner.settle(task, finding, books.of(order.task));

  const TaskTotals& totals = books.of(order.task);
  if (memory)
    memory->answer(json{
        {"count", totals.count},
        {"failed", totals.failed},
        {"unwritten", totals.unwritten},
        {"compute_s", totals.compute_s},
        {"warnings",
         warnings}}.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace sidestream::couple
