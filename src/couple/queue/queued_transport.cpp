#include "couple/queue/queued_transport.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include "couple/bill_event.hpp"
#include "couple/publish/particle_cargo.hpp"
#include "couple/queue/decided_before.hpp"
#include "couple/waiting.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

std::int64_t cells_of(const std::vector<mesh::Layout>& levels) {
  std::int64_t cells = 0;
  for (const mesh::Layout& layout : levels)
    for (const mesh::Box& box : layout.boxes()) cells += box.volume();
  return cells;
}

// Each task's share of the cost of a publish: packing by its bytes, all waiting to the first task.
Orders charged(const Orders& orders, const Announcement& announcement, const Charge& whole) {
  Orders shares = orders;
  for (std::size_t t = 0; t < shares.size(); ++t) {
    const std::int64_t bytes = whole.bytes > 0 ? announcement.bytes[t] : 0;
    const double share = whole.bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(whole.bytes) : 0.0;
    shares[t].charge = {whole.pack_s * share, t == 0 ? whole.wait_s : 0.0, bytes, whole.queue_bytes};
  }
  return shares;
}

}  // namespace

QueuedTransport::QueuedTransport(Surroundings& around, std::string whom, std::unique_ptr<Channel> channel)
    : around_(around),
      whom_(std::move(whom)),
      group_(around.roles.group().duplicate()),
      channel_(std::move(channel)),
      queue_(static_cast<std::int64_t>(around.config.queue_bytes), policy_of(around.config)) {
  if (around.config.when_full->otherwise == PolicyEntry::Otherwise::store)
    group_.agree_on([&] { spill_ = std::make_shared<SpillFile>(around.config.spill); });
}

Orders QueuedTransport::publish(const mesh::Snapshot& snapshot, const Orders& orders) {
  if (!around_.config.replay) return publish_all(snapshot, orders);
  auto [open, here] = decided_before(around_, snapshot.moment, orders);
  std::ranges::move(publish_all(snapshot, open), std::back_inserter(here));
  return here;
}

// All tasks share one publish, unless it would be larger than the whole queue: then each has its own.
Orders QueuedTransport::publish_all(const mesh::Snapshot& snapshot, const Orders& orders) {
  if (orders.empty()) return {};
  const Load load{snapshot, labels_for(orders, snapshot)};
  const auto bytes_of = [&](const Orders& part) { return total_bytes(announcement_for(part, load)); };
  const auto fits = [&](const Orders& part) { return bytes_of(part) <= capacity(); };
  if (fits(orders)) return publish_together(orders, load);
  Orders left;
  for (const Order& order : orders)
    std::ranges::copy(
        fits({order}) ? publish_together({order}, load) : beyond_the_queue(order, bytes_of({order}), snapshot.moment),
        std::back_inserter(left));
  return left;
}

// A mesh that is refined may outgrow the queue. No waiting makes room then, on a disk or elsewhere, for what has to
// pass the memory of the queue, so that ranks that compute do the analysis unless moments may be left out. Where they
// know nothing of the moment before, it is a result that could not be written, which a restart with a larger queue
// makes.
Orders QueuedTransport::beyond_the_queue(const Order& order, std::int64_t bytes, const mesh::Moment& moment) {
  const Task& task = around_.config.tasks[order.task];
  const std::string problem = fmt::format("one publish takes {} bytes, but the queue holds {}", bytes, capacity());
  const auto tell = [&](const std::string& consequence) {
    tell_once("beyond the queue: " + task.name, fmt::format("task `{}`, step {}: {}; {} (said once; `coupling.queue`)",
                                                            task.name, moment.step, problem, consequence));
  };
  if (around_.config.when_full->otherwise == PolicyEntry::Otherwise::leave_out) {
    tell("its moments are left out");
    around_.books.enter(Books::Action::dropped, order, moment);
    return {};
  }
  if (task.isolation)
    return {{order.task, order.charge,
             problem + ", and the ranks that compute do not do what is to be a job of its own; make `coupling.queue` "
                       "larger"}};
  if (task.analysis->looks_back())
    return {{order.task, order.charge,
             problem + ", and only those who have its result of the moment before can compare with that; make "
                       "`coupling.queue` larger"}};
  tell("the ranks that compute do the analysis");
  return {order};
}

void QueuedTransport::tell_once(const std::string& about, const std::string& text) {
  if (around_.told.insert(about).second && is_first() && around_.warn) around_.warn(text);
}

std::vector<ParticleLabel> QueuedTransport::labels_for(const Orders& orders, const mesh::Snapshot& snapshot) const {
  const std::vector<std::string> known = mesh::names_of(snapshot.species());
  std::set<std::string> read;
  group_.agree_on([&] {
    for (const Order& order : orders)
      for (const std::string& name : species_to_send(around_.config.tasks[order.task], known)) read.insert(name);
  });
  std::vector<ParticleLabel> labels;
  for (const std::string& name : known)
    if (read.contains(name))
      if (std::optional<ParticleLabel> label = label_of(group_, snapshot, name)) labels.push_back(std::move(*label));
  return labels;
}

// One publish for all `orders`. What several of their tasks read, a field or a species, travels once and is charged to
// the first.
Announcement QueuedTransport::announcement_for(const Orders& orders, const Load& load) const {
  const mesh::Snapshot& snapshot = load.snapshot;
  Announcement announcement;
  announcement.first_step = around_.runner.first_step();
  std::set<std::string> taken, species_taken;
  const std::vector<std::string> known = mesh::names_of(snapshot.species());
  const std::int64_t field_bytes = cells_of(snapshot.levels) * static_cast<std::int64_t>(sizeof(double));
  for (const Order& order : orders) {
    const Task& task = around_.config.tasks[order.task];
    announcement.tasks.push_back(order.task);
    std::int64_t& bytes = announcement.bytes.emplace_back(0);
    for (const std::string& field : fields_to_send(task, snapshot.quantities())) {
      if (!taken.insert(field).second) continue;
      announcement.fields.push_back({field, snapshot.unit(field)});
      bytes += field_bytes;
    }
    const std::vector<std::string> species = species_to_send(task, known);
    for (const ParticleLabel& label : load.particles)
      if (std::ranges::find(species, label.species) != species.end() && species_taken.insert(label.species).second)
        bytes += label.bytes();
  }
  std::ranges::copy_if(load.particles, std::back_inserter(announcement.particles),
                       [&](const ParticleLabel& label) { return species_taken.contains(label.species); });
  return announcement;
}

Orders QueuedTransport::publish_together(const Orders& orders, const Load& load) {
  const Announcement announcement = announcement_for(orders, load);
  const Handed handed = hand_over(announcement, load, around_.config.tasks[orders.front().task].name);
  const Orders shares = charged(orders, announcement, handed.charge);
  if (handed.answer == Queue::Answer::do_here) return shares;
  for (const Order& order : shares) around_.books.enter(handed.action, order, load.snapshot.moment);
  return {};
}

QueuedTransport::Handed QueuedTransport::hand_over(const Announcement& announcement, const Load& load,
                                                   const std::string& whom) {
  Handed handed;
  const core::Stopwatch wait_watch;
  const Queue::Verdict room = take_room(whom, total_bytes(announcement), load.snapshot.moment.step);
  handed.answer = room.answer;
  handed.charge.wait_s = wait_watch.seconds();
  handed.charge.queue_bytes = room.queue_bytes;
  if (room.answer == Queue::Answer::do_here || room.answer == Queue::Answer::left_out) return handed;
  const core::Stopwatch watch;
  {
    const core::Bill::Part part = around_.bill.part("publish: packing", "");
    handed.action = send(announcement, load, room.answer);
  }
  handed.charge.pack_s = watch.seconds();
  handed.charge.bytes = total_bytes(announcement);
  divide(around_.bill, "publish: packing", around_.config, announcement);
  return handed;
}

QueuedTransport::Carried QueuedTransport::publish_file(const mesh::Snapshot& state, FileOrder order) {
  Load load{state, {}};
  for (const mesh::Species& species : state.species())
    if (std::optional<ParticleLabel> label = label_of(group_, state, species.name()))
      load.particles.push_back(std::move(*label));
  Announcement announcement;
  announcement.first_step = around_.runner.first_step();
  announcement.particles = load.particles;
  for (const mesh::Quantity& field : state.quantities()) announcement.fields.push_back({field.name, field.unit});
  order.bytes = std::ssize(announcement.fields) * cells_of(state.levels) * static_cast<std::int64_t>(sizeof(double));
  for (const ParticleLabel& label : load.particles) order.bytes += label.bytes();
  const std::string& kind = around_.config.files[order.file].kind;
  if (order.bytes > capacity()) {
    tell_once("beyond the queue: " + kind,
              fmt::format("{}, step {}: one publish takes {} bytes, but the queue holds {}; the ranks that compute "
                          "write them (said once; `coupling.queue`)",
                          kind, state.moment.step, order.bytes, capacity()));
    return {};
  }
  announcement.file = std::move(order);
  const Handed handed = hand_over(announcement, load, kind);
  return {handed.charge, handed.answer == Queue::Answer::do_here ? 0 : number_};
}

Queue::Verdict QueuedTransport::take_room(const std::string& first_task, std::int64_t bytes, std::int64_t step) {
  const core::Bill::Part part = around_.bill.part("publish: waiting for room", first_task);
  const Room room = broadcast(is_first() ? decide(bytes, step) : Room{});
  if (room.verdict.answer == Queue::Answer::full)
    throw_together(group_, too_silent("to take a publish out of the full queue"));
  held_.erase(held_.begin(), held_.upper_bound(room.received));
  withdraw(room.verdict.withdrawn);
  if (channel_->is_settled_together()) channel_->start(room.start);
  channel_->release(room.received);
  return room.verdict;
}

QueuedTransport::Room QueuedTransport::decide(std::int64_t bytes, std::int64_t step) {
  Room room;
  const auto is_over = [&] {
    listen();
    start_held();
    room.verdict = queue_.admit(bytes, step);
    return room.verdict.answer != Queue::Answer::full || silence_.seconds() > around_.config.timeout_s;
  };
  silence_.restart();
  wait_and_move(is_over);
  room.received = heard_.received;
  room.start = started_;
  return room;
}

// The cells are computed, or copied, straight into the messages.
Books::Action QueuedTransport::send(Announcement announcement, const Load& load, Queue::Answer answer) {
  const mesh::Snapshot& snapshot = load.snapshot;
  if (snapshot.levels != levels_) {
    levels_ = snapshot.levels;
    route_ = channel_->route_for(levels_);
  }
  ParticleLegs particles;
  group_.agree_on([&] { particles = ParticleLegs(route_, snapshot, announcement.particles, group_.rank()); });
  announcement.number = ++number_;
  if (is_first()) unanalysed_[number_] = announcement.tasks;
  for (const FieldLabel& field : announcement.fields) snapshot.prepare(field.name);
  Cargo cargo = route_.cargo(announcement.fields.size(), particles.words());
  cargo.load(channel_->pool());
  const auto write = [&](std::size_t field, std::size_t level, const mesh::Box& box, const core::View4<double>& out) {
    snapshot.write(announcement.fields[field].name, static_cast<int>(level), box, out);
  };
  route_.pack(announcement.fields.size(), write, cargo);
  particles.pack(cargo);

  const bool is_stored = answer == Queue::Answer::stored && store(cargo, snapshot.moment.step);
  if (answer != Queue::Answer::started) held_[number_] = {announcement.tasks, snapshot.moment};
  mesh::Snapshot head = snapshot.frame();
  head.levels = snapshot.levels;
  channel_->send({std::move(announcement), std::move(head), std::move(cargo)}, answer != Queue::Answer::started);
  if (answer == Queue::Answer::stored && !is_stored)  // it stays in memory, so there has to be room for it
    go_on_until([&] { return queue_.is_started(number_); }, "to take a publish out of the full queue");
  return is_stored ? Books::Action::stored : Books::Action::sent;
}

// Returns whether all ranks could. Where one could not, the simulation waits as if the policy were to block.
bool QueuedTransport::store(Cargo& cargo, std::int64_t step) {
  std::string problem;
  try {
    cargo.store(spill_, channel_->pool());
  } catch (const core::Error& error) {
    problem = error.what();
  }
  const std::int64_t first = group_.min(std::int64_t{problem.empty() ? group_.size() : group_.rank()});
  const bool could_store = std::exchange(could_store_, first == group_.size());
  if (could_store_) return true;
  problem = group_.broadcast(problem, static_cast<int>(first));
  if (could_store) around_.log.write("spill_failed", {{"step", step}, {"message", problem}});
  tell_once("spill", "the simulation waits until there is room in the queue (said once)\n" + problem);
  return false;
}

void QueuedTransport::withdraw(const Range& numbers) {
  if (numbers.is_empty()) return;
  channel_->withdraw(numbers);
  unanalysed_.erase(unanalysed_.lower_bound(numbers.first), unanalysed_.upper_bound(numbers.last));
  for (auto held = held_.lower_bound(numbers.first); held != held_.end() && held->first <= numbers.last;) {
    for (const std::size_t task : held->second.tasks) around_.books.withdraw(task, held->second.moment);
    held = held_.erase(held);
  }
}

void QueuedTransport::progress() {
  if (!channel_->is_time_to_progress()) return;
  const core::Bill::Part part = around_.bill.part("publish: transfers", whom_);
  channel_->progress();
  if (!is_first() || channel_->is_settled_together()) return;
  listen();
  start_held();
}

Standing QueuedTransport::standing() {
  if (!is_first()) return {.sent = number_};
  const core::Bill::Part part = around_.bill.part("publish: transfers", whom_);  // MPI moves messages where it is asked
  listen();
  return {number_, queue_.done(), channel_->first_unwritten(), silence_.seconds()};
}

void QueuedTransport::settle(std::int64_t count) {
  const bool is_only_a_look = count == 0;
  if (is_only_a_look ? settled_ == number_ || !channel_->is_settled_together() : count <= settled_) return;
  const auto is_enough = [&] { return queue_.done() >= count; };
  if (!is_only_a_look) return go_on_until(is_enough, "to analyse");
  const core::Bill::Part part = around_.bill.part("settling results", whom_);
  go_on_until(is_enough, "to analyse");
}

void QueuedTransport::finish(Drain drain) {
  if (drain == Drain::no) {
    withdraw(broadcast(is_first() ? queue_.withdraw_held() : Range{}));
    channel_->stop();
  }
  settle(number_);
  channel_->end();
}

void QueuedTransport::listen() {
  heard_ = channel_->hear();
  if (heard_.is_new) silence_.restart();
  unanalysed_.erase(unanalysed_.begin(), unanalysed_.upper_bound(heard_.analysed));
  queue_.receive(heard_.received);
  if (!channel_->is_settled_together()) queue_.finish(heard_.analysed);
}

void QueuedTransport::start_held() {
  const std::int64_t last = queue_.start_next();
  if (last == 0) return;
  started_ = last;
  if (!channel_->is_settled_together()) channel_->start(last);
}

core::Error QueuedTransport::too_silent(const std::string& what) const {
  std::vector<std::string> names;
  if (!unanalysed_.empty())
    for (const std::size_t task : unanalysed_.begin()->second)
      names.push_back(fmt::format("`{}`", around_.config.tasks[task].name));
  const std::string tasks =
      names.empty() ? "" : fmt::format(" (task{} {})", names.size() > 1 ? "s" : "", fmt::join(names, ", "));
  return too_long(fmt::format("the {} {}{}", whom_, what, tasks), around_.config.timeout_s);
}

template <typename F>
QueuedTransport::Step QueuedTransport::next_step(F is_enough) {
  const bool together = channel_->is_settled_together();
  const std::int64_t told = started_;
  const auto has_news = [&] {
    listen();
    start_held();
    return is_enough() || (together && (started_ > told || heard_.analysed > settled_));
  };
  bool is_silent = false;
  silence_.restart();
  wait_and_move([&] { return has_news() || (is_silent = silence_.seconds() > around_.config.timeout_s); });
  if (together) queue_.finish(heard_.analysed);
  return {started_, heard_.analysed, queue_.done(), is_enough(), is_silent};
}

template <typename F>
void QueuedTransport::go_on_until(F is_enough, const std::string& what) {
  for (Step step; !step.is_enough;) {
    step = broadcast(is_first() ? next_step(is_enough) : Step{});
    if (step.is_silent) throw_together(group_, too_silent(what));
    if (channel_->is_settled_together()) channel_->start(step.start);
    channel_->release(step.analysed);
    channel_->settle(step.analysed);
    settled_ = step.done;
  }
}

// While the first rank waits for those who analyse, they wait for the data of all ranks.
template <typename F>
void QueuedTransport::wait_and_move(F is_over) {
  const auto look = [&] {
    channel_->move();
    return is_over();
  };
  wait_until(look, forever_s);
}

template <typename T>
T QueuedTransport::broadcast(T value) {
  MPI_Request request = MPI_REQUEST_NULL;
  comm::check(MPI_Ibcast(&value, sizeof value, MPI_BYTE, 0, group_.raw(), &request), "MPI_Ibcast");
  wait_and_move([&] {
    int done = 0;
    comm::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
  return value;
}

}  // namespace sidestream::couple
