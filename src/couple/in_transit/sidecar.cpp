#include "couple/in_transit/sidecar.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "couple/bill_event.hpp"
#include "couple/waiting.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/carried_content.hpp"
#include "sidestream/io/pending.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

// That a sidecar has asked for and not yet received.
constexpr std::int64_t most_bytes_under_way = std::int64_t{64} << 20;

}  // namespace

Sidecar::Sidecar(Surroundings& around)
    : around_(around),
      joint_(around.roles.world()),
      group_(around.roles.group().duplicate()),
      timeout_s_(around.config.timeout_s),
      mailbox_(joint_, 0) {}

void Sidecar::serve() {
  while (true) {
    const json command = next_command();
    const auto& kind = command.at("kind").get_ref<const std::string&>();
    if (kind == "levels") adopt(command.at("levels"));
    if (kind == "publish") take(command);
    if (kind == "silence") throw_together(group_, too_long("a sign of the ranks that compute", timeout_s_));
    if (kind == "end") return say_farewell();
  }
}

// The next command of the ranks that compute, on all sidecars.
json Sidecar::next_command() {
  const core::Bill::Part part = around_.bill.part("idle: waiting for a publish", "simulation");
  const core::Stopwatch watch;
  const bool is_first = group_.rank() == 0;
  const std::string bytes = broadcast_patiently(group_, is_first ? packed(wait_for_command()) : std::string());
  idle_s_ += watch.seconds();
  return unpacked(bytes);
}

json Sidecar::wait_for_command() {
  std::optional<json> command;
  const auto is_there = [&] {
    mailbox_.progress();
    command = mailbox_.take(Tag::command);
    return command.has_value();
  };
  if (!wait_until(is_there, timeout_s_)) return {{"kind", "silence"}};
  is_stopped_ = is_stopped_ || mailbox_.take(Tag::stop);
  (*command)["is_stopped"] = is_stopped_;
  return *command;
}

void Sidecar::adopt(const json& levels) {
  source_levels_ = levels_from(levels, std::move(source_levels_), around_.roles.counts().compute);
  levels_ = dealt(source_levels_, group_.size());
  route_ = Route(levels_, group_.rank(), source_levels_, 0, around_.roles.sharers_of_memory());
}

void Sidecar::take(const json& command) {
  const Announcement announcement =
      announcement_from(command, around_.config.tasks.size(), around_.config.files.size());
  around_.runner.begin_at(announcement.first_step);
  mesh::Snapshot snapshot = snapshot_from(command);
  const core::Stopwatch watch;
  std::int64_t bytes_in_place = 0;
  {
    const core::Bill::Part part = around_.bill.part("receiving", "");
    bytes_in_place = receive(announcement, snapshot);
  }
  const double transfer_s = watch.seconds();
  divide(around_.bill, "receiving", around_.config, announcement);
  json event = to_json(snapshot.moment);
  event.update({{"wait_s", std::exchange(idle_s_, 0.0)},
                {"receive_s", transfer_s},
                {"bytes", total_bytes(announcement)},
                {"bytes_in_place", bytes_in_place}});
  around_.log.write("receive", event);
  const std::int64_t unwritten_before = around_.books.unwritten();
  json reply{{"done", announcement.number}};
  if (announcement.file) {
    const FileOutcome outcome = write_file(*announcement.file, std::move(snapshot));
    reply["file"] = {{"error", outcome.error}, {"seconds", outcome.seconds}, {"io", outcome.io}};
  } else if (command.at("is_stopped").get<bool>()) {
    for (const std::size_t task : announcement.tasks) around_.books.withdraw(task, snapshot.moment);
  } else {
    run_tasks(announcement, snapshot, transfer_s);
  }
  reply["is_written"] = around_.books.unwritten() == unwritten_before;
  if (group_.rank() == 0) mailbox_.post(Tag::reply, reply);
}

std::int64_t Sidecar::receive(const Announcement& announcement, mesh::Snapshot& into) {
  const auto cargo = std::make_shared<Cargo>(cargo_for(announcement));
  wait_for_data({joint_, announcement.number, *cargo, most_bytes_under_way});

  // All have theirs when this is over.
  std::int64_t bytes_in_place = cargo->bytes_lent();
  MPI_Request sum = MPI_REQUEST_NULL;
  comm::check(MPI_Iallreduce(MPI_IN_PLACE, &bytes_in_place, 1, MPI_INT64_T, MPI_SUM, group_.raw(), &sum),
              "MPI_Iallreduce");
  wait_for(std::span(&sum, 1), timeout_s_, "the other sidecars", short_pause);
  if (group_.rank() == 0) mailbox_.post(Tag::reply, {{"received", announcement.number}});

  into.levels = levels_;
  into.rank = group_.rank();
  for (std::size_t f = 0; f < announcement.fields.size(); ++f)
    into.add({announcement.fields[f].name, announcement.fields[f].unit},
             [views = route_.views(cargo, f)](int level) { return views[static_cast<std::size_t>(level)]; });
  add_particles(announcement.particles, *cargo, into);
  return bytes_in_place;
}

Cargo Sidecar::cargo_for(const Announcement& announcement) const {
  std::vector<std::int64_t> particle_words;
  for (const ParticleFlow& flow : announcement.flows)
    if (flow.to == group_.rank()) particle_words.push_back(flow.words);
  return route_.cargo(announcement.fields.size(), particle_words);
}

// The time-out is for the silence between two messages.
void Sidecar::wait_for_data(Intake intake) const {
  core::Stopwatch silence;
  const auto is_over = [&] {
    if (intake.progress()) silence.restart();
    return intake.is_done() || silence.seconds() > timeout_s_;
  };
  wait_until(is_over, forever_s, short_pause);
  if (!intake.is_done()) throw too_long("data of the ranks that compute", timeout_s_);
}

void Sidecar::run_tasks(const Announcement& announcement, const mesh::Snapshot& snapshot, double transfer_s) {
  for (std::size_t t = 0; t < announcement.tasks.size(); ++t) {
    const std::size_t task = announcement.tasks[t];
    const Task& own = around_.config.tasks[task];
    const Delivery delivery{own.transport->name, announcement.bytes[t], t == 0 ? transfer_s : 0.0};
    around_.runner.run(own, snapshot, delivery, around_.books.of(task));
  }
}

// A run waits for its files before it ends, so that none is left out.
FileOutcome Sidecar::write_file(const FileOrder& order, mesh::Snapshot state) {
  const CarriedFile& file = around_.config.files[order.file];
  const core::Bill::Part part = around_.bill.part("writing", file.kind);
  const core::Stopwatch watch;
  FileOutcome outcome;
  try {
    const io::CarriedContent content{std::move(state), order.rest};
    const auto write = [&](const std::string& path) { return io::write_carried(group_, content, file.choice, path); };
    const io::AccessStatistics statistics = io::write_of_run(group_, file.choice.kind, order.path, write);
    outcome.io = io::to_json(io::total(group_, statistics)).dump();
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  outcome.seconds = watch.seconds();
  return outcome;
}

void Sidecar::say_farewell() {
  if (group_.rank() != 0) return;
  json totals = json::array();
  for (const TaskTotals& task : around_.books.totals())
    totals.push_back({{"count", task.count},
                      {"dropped", task.dropped},
                      {"failed", task.failed},
                      {"unwritten", task.unwritten},
                      {"compute_s", task.compute_s}});
  mailbox_.post(Tag::reply, {{"farewell", totals}});
  wait_until([&] { return mailbox_.progress(); }, timeout_s_);
}

}  // namespace sidestream::couple
