#include "sidestream/couple/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "couple/async/cores.hpp"
#include "couple/bill_event.hpp"
#include "couple/books.hpp"
#include "couple/isolate/job_needs.hpp"
#include "couple/surroundings.hpp"
#include "couple/task_runner.hpp"
#include "sidestream/comm/progress.hpp"
#include "sidestream/comm/roles.hpp"
#include "sidestream/comm/threads.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

namespace {

// Every group starts its clock here, after a barrier.
io::EventLog open_log(const comm::Roles& roles, const io::RunFolder& folder) {
  roles.world().barrier();
  const auto start = io::EventLog::Clock::now();
  const bool writes = roles.group().rank() == 0;
  io::EventLog log("", start);
  roles.world().agree_on(
      [&] { log = io::EventLog(writes ? folder.events(roles.computes() ? "compute" : "sidecar") : "", start); });
  return log;
}

// What a task cannot do without and the snapshot does not have, or "".
std::string missing_part(const Task& task, const mesh::Snapshot& snapshot) {
  if (!snapshot.has_grid(task.grid)) return "grid `" + task.grid + "`";
  const mesh::Snapshot& on_grid = snapshot.on_grid(task.grid);
  for (const FieldRequest& field : requested_fields(task))
    if (!field.is_optional && !on_grid.has(field.name)) return "field `" + field.name + "`";
  for (const std::string& name : task.analysis->species())
    if (!name.empty() && std::ranges::find(on_grid.species(), name, &mesh::Species::name) == on_grid.species().end())
      return "species `" + name + "`";
  return "";
}

void check_threads(const CouplingConfig& config) {
  for (const Task& task : config.tasks)
    if (way_of(task).needs_threads && !comm::allows_threads())
      throw core::Error(fmt::format("the transport `{}` needs an MPI that several threads may call at a time "
                                    "(MPI_THREAD_MULTIPLE), and this one does not allow it",
                                    task.transport->name),
                        fmt::format("key `task.{}.transport`", task.name),
                        "initialise MPI with MPI_THREAD_MULTIPLE, or set the transport to \"in-situ\"");
}

}  // namespace

void require_session(const comm::Communicator& world, const CouplingConfig& config) {
  world.agree_on([&] { check_threads(config); });
  const bool has_jobs = std::ranges::any_of(config.tasks, [](const Task& task) { return task.isolation.has_value(); });
  if (!has_jobs && !config.uses_threads()) return;
  const comm::Roles roles(world, config.sidecars_used(), false);
  const std::string missing = has_jobs && roles.computes() ? missing_for_jobs(roles.group(), config) : "";
  world.agree_on([&] {
    require_nothing_missing(missing, config);
    if (config.uses_threads() && roles.computes()) check_cores(config.cores);
  });
}

class Session::Impl {
 public:
  Impl(const comm::Communicator& world, CouplingConfig config, const io::RunFolder& folder, core::Bill& bill, Warn warn)
      : config_(std::move(config)),
        bill_(bill),
        folder_(folder),
        warn_(std::move(warn)),
        roles_(world, config_.sidecars_used(), config_.shares_memory),
        group_(comm::with_progress(roles_.group(), [this] { progress(); })),
        log_(open_log(roles_, folder_)),
        books_(config_.tasks, log_),
        runner_(group_, folder_, log_, bill, warn_, config_.timeout_s),
        schedule_(group_, bill, config_.times.unit) {
    require_session(world, config_);
    for (const Task& task : config_.tasks) schedule_.add(task.name, task.trigger);
    schedule_.replay(config_.replay);
    if (roles_.computes()) make_ways();
  }

  // Transports have threads that write into the log.
  ~Impl() { ways_.clear(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const comm::Roles& roles() const { return roles_; }
  const comm::Communicator& group() const { return group_; }
  io::EventLog& log() { return log_; }

  void serve() {
    core::require(!roles_.computes(), "only a sidecar serves");
    bill_.begin_rest();
    for (const TransportEntry* entry : entries())
      if (entry->serve) entry->serve(around_);
    write_bill();
  }

  Schedule& schedule() { return schedule_; }

  bool is_due(const Occasion& occasion, const PresentState::SnapshotOf& snapshot) {
    come_to(occasion.moment.step);
    if (schedule_.decide(occasion, snapshot))
      for (const std::string& name : schedule_.due_by_clock())
        log_.write("due_by_clock", {{"step", occasion.moment.step}, {"task", name}});
    return std::ranges::any_of(config_.tasks, [this](const Task& task) { return schedule_.is_due(task.name); });
  }

  std::vector<std::string> foreseen(std::int64_t step, const std::vector<mesh::Quantity>& known) {
    std::vector<std::string> all;
    for (const Task& task : config_.tasks) {
      const std::int64_t every = schedule_.trigger(task.name).when().every;
      if (task.grid.empty() && every > 0 && step % every == 0)
        std::ranges::copy(fields_to_send(task, known), std::back_inserter(all));
    }
    return all;
  }

  void resume(const mesh::Moment& moment, const std::string& memory) {
    come_to(moment.step);
    schedule_.resume(moment, memory);
  }

  void publish(const mesh::Snapshot& snapshot) {
    core::require(roles_.computes(), "only the ranks that compute publish");
    if (std::exchange(last_published_, snapshot.moment.step) == snapshot.moment.step) return;
    come_to(snapshot.moment.step);
    schedule_.decide({snapshot.moment}, [&]() -> const mesh::Snapshot& { return snapshot; });
    std::map<std::string, std::vector<std::size_t>> due;  // by grid
    for (const std::size_t task : runnable_tasks(snapshot)) due[config_.tasks[task].grid].push_back(task);
    std::map<std::string, Orders> left;
    for (const Way& way : ways_)
      for (const auto& [grid, tasks] : due) {
        Orders orders;
        for (const std::size_t task : tasks)
          if (&way_of(config_.tasks[task]) == way.entry) orders.push_back({task});
        std::ranges::copy(way.transport->publish(snapshot.on_grid(grid), orders), std::back_inserter(left[grid]));
      }
    for (const auto& [grid, orders] : left) ways_.back().transport->publish(snapshot.on_grid(grid), orders);
  }

  Transport::Carried publish_file(const mesh::Snapshot& state, FileOrder order) {
    come_to(state.moment.step);
    return way_to_sidecars().publish_file(state, std::move(order));
  }

  std::optional<FileOutcome> outcome_of(std::int64_t number) { return way_to_sidecars().outcome_of(number); }

  void progress() {
    for (const Way& way : ways_) way.transport->progress();
  }

  Mark mark() {
    Mark mark;
    for (const Way& way : ways_) mark.sent.push_back(way.transport->standing().sent);
    return mark;
  }

  Outlook outlook(const Mark& mark) {
    Outlook all;
    for (std::size_t w = 0; w < ways_.size(); ++w) {
      const Standing one = ways_[w].transport->standing();
      if (one.done < mark.sent[w]) {
        all.is_done = false;
        all.silence_s = std::max(all.silence_s, one.silence_s);
      }
      if (one.first_unwritten && *one.first_unwritten <= mark.sent[w]) all.are_written = false;
    }
    return all;
  }

  void wait_for(const Mark& mark) {
    for (std::size_t w = 0; w < ways_.size(); ++w) ways_[w].transport->settle(mark.sent[w]);
  }

  void write_bill() { log_.write("bill", summed(roles_.group(), bill_)); }

  std::vector<TaskTotals> finish(Drain drain) {
    core::require(roles_.computes(), "only the ranks that compute end a session");
    const core::Bill::Part part = bill_.part("waiting for the last analyses", "tasks");
    for (const Way& way : ways_) way.transport->finish(drain);
    books_.close();
    return roles_.group().rank() == 0 ? books_.totals() : std::vector<TaskTotals>{};
  }

 private:
  // A transport that tasks name.
  struct Way {
    const TransportEntry* entry;
    std::unique_ptr<Transport> transport;
  };

  // Those that tasks name, and the last one for what they leave, which is that of tasks in situ, too: nobody waits for
  // the ranks that compute before these do.
  std::vector<const TransportEntry*> entries() const {
    const TransportEntry* last = &transports().front();
    std::vector<const TransportEntry*> all;
    for (const Task& task : config_.tasks)
      if (const TransportEntry* way = &way_of(task); way != last && std::ranges::find(all, way) == all.end())
        all.push_back(way);
    const auto add = [&](const TransportEntry& entry) {
      if (std::ranges::find(all, &entry) == all.end()) all.push_back(&entry);
    };
    if (!config_.files.empty()) add(to_sidecars());
    if (config_.steering) add(transports().named("stream"));  // who steers comes to its socket
    all.push_back(last);
    return all;
  }

  static const TransportEntry& to_sidecars() { return transports().named("in-transit"); }

  Transport& way_to_sidecars() { return *std::ranges::find(ways_, &to_sidecars(), &Way::entry)->transport; }

  void make_ways() {
    for (const TransportEntry* entry : entries()) ways_.push_back({entry, entry->make(around_)});
  }

  // What goes on behind the steps is settled between them.
  void come_to(std::int64_t step) {
    if (!first_step_) runner_.begin_at(*(first_step_ = step));
    if (std::exchange(present_step_, step) == step) return;
    for (const Way& way : ways_) way.transport->settle(0);
  }

  // The tasks that are due and find their fields; the others are reported.
  std::vector<std::size_t> runnable_tasks(const mesh::Snapshot& snapshot) {
    std::vector<std::size_t> found;
    for (std::size_t task = 0; task < config_.tasks.size(); ++task) {
      if (!schedule_.is_due(config_.tasks[task].name)) continue;
      const std::string missing = missing_part(config_.tasks[task], snapshot);
      if (missing.empty())
        found.push_back(task);
      else
        runner_.report_failure(config_.tasks[task], snapshot.moment.step, "the snapshot has no " + missing,
                               books_.of(task));
    }
    return found;
  }

  CouplingConfig config_;
  core::Bill& bill_;
  io::RunFolder folder_;
  Warn warn_;
  comm::Roles roles_;
  std::vector<Way> ways_;     // empty on sidecars
  comm::Communicator group_;  // whoever has it may let the transfers go on
  io::EventLog log_;
  Books books_;
  TaskRunner runner_;
  Schedule schedule_;
  Surroundings around_{roles_, config_, folder_, log_, bill_, books_, runner_, warn_};
  std::optional<std::int64_t> first_step_, present_step_, last_published_;
};

Session::Session(const comm::Communicator& world, CouplingConfig config, const io::RunFolder& folder, core::Bill& bill,
                 Warn warn)
    : impl_(std::make_unique<Impl>(world, std::move(config), folder, bill, std::move(warn))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

bool Session::computes() const {
  return impl_->roles().computes();
}
const comm::RankCounts& Session::counts() const {
  return impl_->roles().counts();
}
const comm::Communicator& Session::compute_group() const {
  return impl_->group();
}
io::EventLog& Session::log() {
  return impl_->log();
}
void Session::serve() {
  impl_->serve();
}
Schedule& Session::schedule() {
  return impl_->schedule();
}
bool Session::is_due(const Occasion& occasion, const PresentState::SnapshotOf& snapshot) {
  return impl_->is_due(occasion, snapshot);
}
std::vector<std::string> Session::foreseen(std::int64_t step, const std::vector<mesh::Quantity>& known) {
  return impl_->foreseen(step, known);
}
void Session::resume(const mesh::Moment& moment, const std::string& memory) {
  impl_->resume(moment, memory);
}
void Session::publish(const mesh::Snapshot& snapshot) {
  impl_->publish(snapshot);
}
Transport::Carried Session::publish_file(const mesh::Snapshot& state, FileOrder order) {
  return impl_->publish_file(state, std::move(order));
}
std::optional<FileOutcome> Session::outcome_of(std::int64_t number) {
  return impl_->outcome_of(number);
}
void Session::progress() {
  impl_->progress();
}
Session::Mark Session::mark() {
  return impl_->mark();
}
Session::Outlook Session::outlook(const Mark& mark) {
  return impl_->outlook(mark);
}
void Session::wait_for(const Mark& mark) {
  impl_->wait_for(mark);
}
void Session::write_bill() {
  impl_->write_bill();
}
std::vector<TaskTotals> Session::finish(Drain drain) {
  return impl_->finish(drain);
}

}  // namespace sidestream::couple
