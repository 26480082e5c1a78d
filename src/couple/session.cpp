#include "sidestream/couple/session.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "couple/bill_event.hpp"
#include "couple/in_transit/outbox.hpp"
#include "couple/in_transit/sidecar.hpp"
#include "couple/task_runner.hpp"
#include "sidestream/comm/progress.hpp"
#include "sidestream/comm/roles.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/run_folder.hpp"

namespace sidestream::couple {

using nlohmann::json;

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

std::int64_t cells_of(const std::vector<mesh::Layout>& levels) {
  std::int64_t cells = 0;
  for (const mesh::Layout& layout : levels)
    for (const mesh::Box& box : layout.boxes()) cells += box.volume();
  return cells;
}

// The first field that a task cannot do without and the snapshot does not have, or "".
std::string missing_field(const Task& task, const mesh::Snapshot& snapshot) {
  for (const FieldRequest& field : requested_fields(task))
    if (!field.is_optional && !snapshot.has(field.name)) return field.name;
  return "";
}

}  // namespace

class Session::Impl {
 public:
  Impl(const comm::Communicator& world, CouplingConfig config, const io::RunFolder& folder, core::Bill& bill, Warn warn)
      : config_(std::move(config)),
        bill_(bill),
        roles_(world, config_.sidecars_used()),
        group_(comm::with_progress(roles_.group(), [this] { progress(); })),
        log_(open_log(roles_, folder)),
        runner_(group_, folder, log_, bill, std::move(warn), config_.timeout_s),
        schedule_(group_, bill, config_.times.unit) {
    for (const Task& task : config_.tasks) {
      totals_.emplace_back().task = task.name;
      schedule_.add(task.name, task.trigger);
    }
    if (roles_.counts().sidecars == 0) return;
    if (roles_.computes())
      outbox_ = std::make_unique<Outbox>(roles_, config_);
    else
      sidecar_ = std::make_unique<Sidecar>(roles_, config_, runner_, log_, bill_, totals_);
  }

  const comm::Roles& roles() const { return roles_; }
  const comm::Communicator& group() const { return group_; }
  io::EventLog& log() { return log_; }

  void serve() {
    core::require(sidecar_ != nullptr, "only a sidecar serves");
    bill_.begin_rest();
    sidecar_->serve();
    write_bill();
  }

  Schedule& schedule() { return schedule_; }

  bool is_due(const Occasion& occasion, const PresentState::SnapshotOf& snapshot) {
    begin_at(occasion.moment.step);
    schedule_.decide(occasion, snapshot);
    return !tasks_due().empty();
  }

  void resume(const mesh::Moment& moment, const std::string& memory) {
    begin_at(moment.step);
    schedule_.resume(moment, memory);
  }

  void publish(const mesh::Snapshot& snapshot) {
    core::require(roles_.computes(), "only the ranks that compute publish");
    if (last_step_ == snapshot.moment.step) return;
    last_step_ = snapshot.moment.step;
    begin_at(snapshot.moment.step);
    schedule_.decide({snapshot.moment}, [&]() -> const mesh::Snapshot& { return snapshot; });
    Tasks here, sent;
    for (const std::size_t task : runnable_tasks(snapshot))
      (config_.tasks[task].transport == Transport::in_situ ? here : sent).push_back(task);
    send(snapshot, sent, here);
    for (const std::size_t task : here)
      if (config_.tasks[task].transport == Transport::in_situ) report_publish(task, snapshot, {});
    for (const std::size_t task : here) runner_.run(config_.tasks[task], snapshot, {}, totals_[task]);
  }

  void progress() {
    if (!outbox_ || !outbox_->is_time_to_progress()) return;
    const core::Bill::Part part = bill_.part("publish: transfers", "sidecars");
    outbox_->progress();
  }

  std::int64_t sent() const { return outbox_ ? outbox_->sent() : 0; }
  std::int64_t done() {
    if (!outbox_) return 0;
    const core::Bill::Part part = bill_.part("publish: transfers", "sidecars");  // MPI moves messages where it is asked
    return outbox_->done();
  }
  bool are_written(std::int64_t count) const { return !outbox_ || outbox_->are_written(count); }
  bool are_written_in_situ() const { return unwritten(totals_) == 0; }
  double silence_s() const { return outbox_ ? outbox_->silence_s() : 0.0; }
  void wait_for_done(std::int64_t count) {
    if (outbox_) outbox_->wait_for_done(count);
  }

  void write_bill() { log_.write("bill", summed(roles_.group(), bill_)); }

  std::vector<TaskTotals> finish(Drain drain) {
    core::require(roles_.computes(), "only the ranks that compute end a session");
    const core::Bill::Part part = bill_.part("waiting for the last analyses", "sidecars");
    if (outbox_) add(outbox_->end(drain));
    return roles_.group().rank() == 0 ? totals_ : std::vector<TaskTotals>{};
  }

 private:
  using Tasks = std::vector<std::size_t>;  // indices into the configuration
  enum class Action { sent, dropped, in_situ };
  struct Load {
    const mesh::Snapshot& snapshot;
    std::optional<ParticleLabel> particles;  // where there are any and somebody reads them
  };
  struct Charge {
    Action action = Action::in_situ;
    double pack_s = 0.0, wait_s = 0.0;
    std::int64_t bytes = 0, queue_bytes = 0;
  };

  void begin_at(std::int64_t step) {
    if (!first_step_) first_step_ = step;
    runner_.begin_at(*first_step_);
  }

  bool reads_particles(const Tasks& tasks) const {
    return std::ranges::any_of(tasks,
                               [&](std::size_t task) { return config_.tasks[task].analysis->reads_particles(); });
  }

  Tasks tasks_due() const {
    Tasks due;
    for (std::size_t task = 0; task < config_.tasks.size(); ++task)
      if (schedule_.is_due(config_.tasks[task].name)) due.push_back(task);
    return due;
  }

  // The tasks that are due and find their fields; the others are reported.
  Tasks runnable_tasks(const mesh::Snapshot& snapshot) {
    Tasks due = tasks_due();
    std::erase_if(due, [&](std::size_t task) {
      const std::string missing = missing_field(config_.tasks[task], snapshot);
      if (missing.empty()) return false;
      runner_.report_failure(config_.tasks[task], snapshot.moment.step, "the snapshot has no field `" + missing + "`",
                             totals_[task]);
      return true;
    });
    return due;
  }

  // One publish for all `tasks`. What several of them read, a field or the particles, travels once and is charged to
  // the first.
  Announcement announcement_for(const Tasks& tasks, const Load& load) {
    const mesh::Snapshot& snapshot = load.snapshot;
    Announcement announcement;
    announcement.tasks = tasks;
    announcement.first_step = *first_step_;
    std::set<std::string> taken;
    const std::int64_t field_bytes = cells_of(snapshot.levels) * static_cast<std::int64_t>(sizeof(double));
    for (const std::size_t task : tasks) {
      std::int64_t& bytes = announcement.bytes.emplace_back(0);
      for (const FieldRequest& field : requested_fields(config_.tasks[task])) {
        if (!snapshot.has(field.name) || !taken.insert(field.name).second) continue;
        announcement.fields.push_back({field.name, snapshot.unit(field.name)});
        bytes += field_bytes;
      }
      if (!load.particles || announcement.particles || !config_.tasks[task].analysis->reads_particles()) continue;
      announcement.particles = load.particles;
      bytes += load.particles->bytes();
    }
    return announcement;
  }

  static std::int64_t bytes_of(const Announcement& announcement) {
    return std::accumulate(announcement.bytes.begin(), announcement.bytes.end(), std::int64_t{0});
  }

  // All tasks share one publish, unless it would be larger than the whole queue: then each has its own.
  std::vector<Tasks> publishes_of(const Tasks& tasks, const Load& load) {
    if (tasks.empty()) return {};
    if (static_cast<double>(bytes_of(announcement_for(tasks, load))) <= config_.queue_bytes) return {tasks};
    std::vector<Tasks> each;
    for (const std::size_t task : tasks) each.push_back({task});
    return each;
  }

  // Sends to sidecars what `tasks` read; those that there is no room for are done `here` where the policy says so.
  void send(const mesh::Snapshot& snapshot, const Tasks& tasks, Tasks& here) {
    const Load load{snapshot, reads_particles(tasks) ? outbox_->describe_particles(snapshot) : std::nullopt};
    for (const Tasks& part : publishes_of(tasks, load))
      if (send_or_drop(part, load) == Action::in_situ) here.insert(here.end(), part.begin(), part.end());
  }

  Outbox::Room take_room(const std::string& first_task, std::int64_t bytes) {
    const core::Bill::Part part = bill_.part("publish: waiting for room", first_task);
    return outbox_->take_room(bytes);
  }

  Action send_or_drop(const Tasks& tasks, const Load& load) {
    const Announcement announcement = announcement_for(tasks, load);
    const std::int64_t bytes = bytes_of(announcement);
    const Outbox::Room room = take_room(config_.tasks[tasks.front()].name, bytes);
    Charge whole{Action::sent, 0.0, room.wait_s, bytes, room.queue_bytes};
    if (!room.is_granted) whole.action = config_.when_full == WhenFull::drop ? Action::dropped : Action::in_situ;
    const core::Stopwatch watch;
    if (room.is_granted) {
      const core::Bill::Part part = bill_.part("publish: packing", "");
      outbox_->send(announcement, load.snapshot);
    }
    whole.pack_s = watch.seconds();
    divide(bill_, "publish: packing", config_.tasks, announcement);
    for (std::size_t t = 0; t < tasks.size(); ++t)
      report_publish(tasks[t], load.snapshot, share(whole, announcement.bytes[t], t == 0));
    return whole.action;
  }

  // A task's share of the cost of a publish: packing by its bytes, all waiting to the first task.
  static Charge share(const Charge& whole, std::int64_t bytes, bool is_first) {
    Charge part = whole;
    part.bytes = whole.action == Action::sent ? bytes : 0;
    part.wait_s = is_first ? whole.wait_s : 0.0;
    part.pack_s = whole.bytes > 0 ? whole.pack_s * static_cast<double>(bytes) / static_cast<double>(whole.bytes) : 0.0;
    return part;
  }

  void report_publish(std::size_t task, const mesh::Snapshot& snapshot, const Charge& charge) {
    TaskTotals& totals = totals_[task];
    totals.pack_s += charge.pack_s;
    totals.wait_s += charge.wait_s;
    totals.bytes += charge.bytes;
    totals.dropped += charge.action == Action::dropped;
    constexpr std::array words{"sent", "dropped", "in-situ"};
    json event = to_json(snapshot.moment);
    event.update({{"task", totals.task},
                  {"transport", to_string(config_.tasks[task].transport)},
                  {"pack_s", charge.pack_s},
                  {"wait_s", charge.wait_s},
                  {"bytes", charge.bytes},
                  {"action", words[static_cast<std::size_t>(charge.action)]},
                  {"queue_bytes", charge.queue_bytes}});
    log_.write("publish", event);
  }

  void add(const json& sidecar_totals) {
    for (std::size_t task = 0; task < sidecar_totals.size(); ++task) {
      const json& part = sidecar_totals[task];
      totals_[task].count += part.at("count").get<std::int64_t>();
      totals_[task].dropped += part.at("dropped").get<std::int64_t>();
      totals_[task].failed += part.at("failed").get<std::int64_t>();
      totals_[task].unwritten += part.at("unwritten").get<std::int64_t>();
      totals_[task].compute_s += part.at("compute_s").get<double>();
    }
  }

  CouplingConfig config_;
  core::Bill& bill_;
  comm::Roles roles_;
  std::unique_ptr<Outbox> outbox_;
  comm::Communicator group_;  // whoever has it may let the transfers of the outbox go on
  io::EventLog log_;
  TaskRunner runner_;
  Schedule schedule_;
  std::vector<TaskTotals> totals_;
  std::unique_ptr<Sidecar> sidecar_;
  std::optional<std::int64_t> first_step_, last_step_;
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
void Session::resume(const mesh::Moment& moment, const std::string& memory) {
  impl_->resume(moment, memory);
}
void Session::publish(const mesh::Snapshot& snapshot) {
  impl_->publish(snapshot);
}
void Session::progress() {
  impl_->progress();
}
std::int64_t Session::sent() const {
  return impl_->sent();
}
std::int64_t Session::done() {
  return impl_->done();
}
bool Session::are_written(std::int64_t count) const {
  return impl_->are_written(count);
}
bool Session::are_written_in_situ() const {
  return impl_->are_written_in_situ();
}
double Session::silence_s() const {
  return impl_->silence_s();
}
void Session::wait_for_done(std::int64_t count) {
  impl_->wait_for_done(count);
}
void Session::write_bill() {
  impl_->write_bill();
}
std::vector<TaskTotals> Session::finish(Drain drain) {
  return impl_->finish(drain);
}

}  // namespace sidestream::couple
