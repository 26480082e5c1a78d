#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "couple/bill_event.hpp"
#include "couple/entries.hpp"
#include "couple/publish/particle_cargo.hpp"
#include "couple/publish/protocol.hpp"
#include "couple/queue/decided_before.hpp"
#include "couple/queue/spill_file.hpp"
#include "couple/stream/meeting_point.hpp"
#include "couple/stream/run/broker.hpp"
#include "couple/stream/run/gateways.hpp"
#include "couple/stream/run/opened_station.hpp"
#include "couple/stream/run/station.hpp"
#include "couple/stream/run/token_bucket.hpp"
#include "couple/surroundings.hpp"
#include "couple/waiting.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/machine.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/steering_desk.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr const char* name = "stream";
constexpr double farewell_s = 3.0;

std::string digest(const std::string& text) {
  return fmt::format("{:016x}", std::hash<std::string>()(text));
}

// One that goes on with the configuration of before is the same.
std::string run_of(const io::RunFolder& folder, const std::string& configuration) {
  try {
    const MeetingPoint before = meeting_point(folder.path());
    if (before.configuration == digest(configuration)) return before.run;
  } catch (const core::Error&) {  // nobody was there, or said anything of use
  }
  return stream::random_word();
}

// Of those who steer the run.
Broker::Answers answers_of(const CouplingConfig& config) {
  const auto answer = [desk = config.steering](const json& request) {
    return desk ? desk->answer(request)
                : json{{"ok", false},
                       {"message", "this run is not steered"},
                       {"hint", "start it with `run.steering = true`"}};
  };
  return {{"steer", answer}, {"array", answer}};
}

/// Readers of other jobs, that come and go.
class Stream : public Transport {
 public:
  explicit Stream(Surroundings& around);
  ~Stream() override;

  Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) override;
  Standing standing() override;
  void settle(std::int64_t count) override;
  void finish(Drain drain) override;

 private:
  // What all ranks are told of a publish.
  struct Plan {
    std::vector<Broker::Subscriber> subscribers;
    std::vector<std::string> fields, species;
  };
  struct Decision {
    Broker::Answer answer{};
    std::int64_t number = 0, queue_bytes = 0;
  };

  bool is_first() const { return group_.rank() == 0; }
  Plan plan(const mesh::Snapshot& snapshot, const Orders& orders);
  Decision decide(const Plan& plan, std::int64_t bytes, std::int64_t step);
  bool send(const Plan& plan, const mesh::Snapshot& snapshot, std::vector<ParticleLabel> particles,
            const Orders& orders, const Decision& decision);
  bool store(Cargo& cargo, std::int64_t step);
  void offer(const Plan& plan, const Announcement& announcement, const mesh::Snapshot& snapshot);
  void report(const std::vector<Broker::Withdrawn>& withdrawn, std::int64_t step);
  void free(std::span<const std::int64_t> finished);
  void note_refusal(const std::string& peer, const std::string& key);
  void book_acknowledged();
  std::vector<std::string> names_of(const Orders& orders) const;
  Orders publish_all(const mesh::Snapshot& snapshot, const Orders& orders);
  void wait_for_readers();
  void wait_for_readers_to(const std::function<bool()>& be_done);

  Surroundings& around_;
  comm::Communicator group_;
  Gateways gateways_;
  std::unique_ptr<Broker> broker_;  // of the first rank
  TokenBucket refusals_told_{100.0, 0.1};
  std::atomic<std::int64_t> refusals_untold_{0};  // at this rank, since the start
  OpenedStation opened_;
  Station& station_;
  std::shared_ptr<SpillFile> spill_;
  BufferPool pool_;
  std::vector<mesh::Layout> levels_;  // of the last publish
  Route route_;
  std::int64_t number_ = 0, released_ = 0;
  Broker::Verdict verdict_{};
  bool has_begun_ = false;
};

Stream::Stream(Surroundings& around)
    : around_(around),
      group_(around.roles.group().duplicate()),
      gateways_(group_, around.config.stream.gateways),
      opened_(open_station(group_, around.config,
                           [this](const std::string& peer, const std::string& key) { note_refusal(peer, key); })),
      station_(*opened_.station) {
  std::vector<std::string> addresses, plain_addresses;
  for (const std::int32_t gateway : is_first() ? gateways_.ranks() : std::vector<std::int32_t>()) {
    addresses.push_back(opened_.places[static_cast<std::size_t>(gateway)].messages);
    plain_addresses.push_back(opened_.places[static_cast<std::size_t>(gateway)].plain);
  }
  if (around.config.when_full->otherwise == PolicyEntry::Otherwise::store)
    group_.agree_on([&] { spill_ = std::make_shared<SpillFile>(around.config.spill); });
  group_.agree_on([&] {
    if (!is_first()) return station_.begin(nullptr);
    const StreamConfig& config = around_.config.stream;
    std::vector<std::string> tasks;
    for (const Task& task : around_.config.tasks)
      if (task.transport->name == name) tasks.push_back(task.name);
    const std::string configuration = io::read_text(around_.folder.config());
    const std::string run = run_of(around_.folder, configuration);
    const auto tell = [this](const std::string& event, const json& details) { around_.log.write(event, details); };
    broker_ = std::make_unique<Broker>(
        Broker::Run{run, configuration, addresses, plain_addresses, tasks},
        Broker::Options{&policy_of(around_.config), static_cast<std::int64_t>(around_.config.queue_bytes),
                        config.timeout_s},
        tell, answers_of(around_.config));
    const std::string asked = opened_.sockets.is_open() ? opened_.sockets.address("run") : config.listen;
    const stream::Security security = security_of(config);
    const std::string address = station_.open(asked, security);
    const bool has_key = security.own.has_value();
    const std::string outside = host_of(address) == "0.0.0.0" || host_of(address) == "*"
                                    ? fmt::format("tcp://{}{}", core::host_name(), address.substr(address.rfind(':')))
                                    : address;
    write(MeetingPoint{outside, has_key ? security.own->public_key : "", run, digest(configuration)}, around_.folder);
    around_.log.write("stream_open", {{"address", outside}, {"encrypted", has_key}, {"tasks", tasks}});
    station_.begin(broker_.get());
  });
}

// Of the thread that asks for keys. The log is the first rank's: what comes to others is counted.
void Stream::note_refusal(const std::string& peer, const std::string& key) {
  if (is_first() && refusals_told_.take())
    around_.log.write("stream_refused", {{"address", peer}, {"key", key}});
  else
    ++refusals_untold_;
}

// After an error, readers are not waited for: they see that the run says nothing any more.
Stream::~Stream() {
  station_.end(0.0);
  if (is_first() && broker_) std::filesystem::remove(around_.folder.stream());
}

std::vector<std::string> Stream::names_of(const Orders& orders) const {
  std::vector<std::string> names;
  for (const Order& order : orders) names.push_back(around_.config.tasks[order.task].name);
  return names;
}

// A reader that demands what there is not is let go. Nothing is done for nobody.
Stream::Plan Stream::plan(const mesh::Snapshot& snapshot, const Orders& orders) {
  json told;
  if (is_first()) {
    std::set<std::string> fields, species;
    const std::vector<std::string> known = mesh::names_of(snapshot.species());
    for (const Broker::Subscriber& subscriber : broker_->subscribers(names_of(orders))) {
      try {
        for (const std::string& field : fields_for(subscriber.demand, snapshot.quantities())) fields.insert(field);
        for (const std::string& one : species_for(subscriber.demand, known)) species.insert(one);
        told["readers"].push_back({{"reader", subscriber.reader}, {"demand", to_json(subscriber.demand)}});
      } catch (const core::Error& error) {
        broker_->dismiss(subscriber.reader, error.message() + (error.hint().empty() ? "" : "; " + error.hint()));
      }
    }
    told["fields"] = fields;
    told["species"] = species;
    if (!told.contains("readers")) told = json();
  }
  const std::string bytes = group_.broadcast(told.is_null() ? std::string() : packed(told));
  if (bytes.empty()) return {};
  told = unpacked(bytes);
  Plan plan;
  for (const json& reader : told.at("readers"))
    plan.subscribers.push_back({reader.at("reader"), demand_from(reader.at("demand"))});
  told.at("fields").get_to(plan.fields);
  told.at("species").get_to(plan.species);
  return plan;
}

void Stream::wait_for_readers() {
  const int wanted = around_.config.stream.wait_for;
  if (wanted == 0) return;
  const core::Bill::Part part = around_.bill.part("waiting for readers", name);
  bool are_here = true;
  if (is_first()) are_here = wait_until([&] { return broker_->count_readers() >= wanted; }, around_.config.timeout_s);
  const std::string problem = broadcast_patiently(group_, are_here ? "" : "late");
  if (!problem.empty())
    throw_together(group_, core::Error(fmt::format("waited {:.3g} s for {} readers", around_.config.timeout_s, wanted),
                                       "key `stream.wait_for`", "start them, or wait for fewer"));
}

Orders Stream::publish(const mesh::Snapshot& snapshot, const Orders& orders) {
  if (!around_.config.replay) return publish_all(snapshot, orders);
  auto [open, here] = decided_before(around_, snapshot.moment, orders);
  std::ranges::move(publish_all(snapshot, open), std::back_inserter(here));
  return here;
}

Orders Stream::publish_all(const mesh::Snapshot& snapshot, const Orders& orders) {
  if (orders.empty()) return {};
  if (!std::exchange(has_begun_, true)) wait_for_readers();
  const std::int64_t step = snapshot.moment.step;
  const Plan plan_of_it = plan(snapshot, orders);
  if (plan_of_it.subscribers.empty()) {
    for (const Order& order : orders) around_.books.enter_unheard(order.task, snapshot.moment);
    return {};
  }
  std::vector<ParticleLabel> particles;
  for (const std::string& species : plan_of_it.species)
    if (std::optional<ParticleLabel> label = label_of(group_, snapshot, species))
      particles.push_back(std::move(*label));
  std::vector<Demand> demands;
  for (const Broker::Subscriber& subscriber : plan_of_it.subscribers) demands.push_back(subscriber.demand);
  std::vector<mesh::Layout> levels = levels_for_all(demands, snapshot.levels, snapshot.blocks());
  if (levels != levels_) {
    levels_ = std::move(levels);
    route_ = Route(levels_, group_.rank());
    gateways_.make_way(levels_);
  }
  std::int64_t bytes = 0;
  for (const mesh::Layout& layout : levels_)
    for (const mesh::Box& box : layout.boxes()) bytes += box.volume();
  bytes *= std::ssize(plan_of_it.fields) * static_cast<std::int64_t>(sizeof(double));
  for (const ParticleLabel& label : particles) bytes += label.bytes();

  Charge charge;
  const core::Stopwatch wait_watch;
  const Decision decision = decide(plan_of_it, bytes, step);
  charge.wait_s = wait_watch.seconds();
  charge.queue_bytes = decision.queue_bytes;
  Orders here;
  Books::Action action = Books::Action::dropped;
  if (decision.answer == Broker::Answer::taken || decision.answer == Broker::Answer::stored) {
    const core::Stopwatch watch;
    const core::Bill::Part part = around_.bill.part("publish: packing", name);
    const bool is_stored = send(plan_of_it, snapshot, std::move(particles), orders, decision);
    charge.pack_s = watch.seconds();
    charge.bytes = bytes;
    action = is_stored ? Books::Action::stored : Books::Action::sent;
  }
  for (Order order : orders) {
    order.charge = charge;
    charge = {0.0, 0.0, 0, charge.queue_bytes};
    if (decision.answer == Broker::Answer::do_here && around_.config.tasks[order.task].analysis_name != "readers")
      here.push_back(order);
    else
      around_.books.enter(action, order, snapshot.moment);
  }
  return here;
}

// Room is taken before the fields are made.
Stream::Decision Stream::decide(const Plan& plan, std::int64_t bytes, std::int64_t step) {
  const core::Bill::Part part = around_.bill.part("publish: waiting for room", name);
  Decision decision;
  if (is_first()) {
    std::vector<Broker::Withdrawn> withdrawn;
    const bool is_too_large = bytes > static_cast<std::int64_t>(around_.config.queue_bytes);
    const core::Stopwatch watch;
    const auto is_over = [&] {
      verdict_ = broker_->admit(plan.subscribers, bytes, step);
      std::ranges::move(verdict_.withdrawn, std::back_inserter(withdrawn));
      if (watch.seconds() > around_.config.timeout_s) broker_->drop_idle(around_.config.timeout_s);
      return verdict_.answer != Broker::Answer::full || is_too_large;
    };
    wait_until(is_over, forever_s);
    if (verdict_.answer == Broker::Answer::full) {
      verdict_.answer = Broker::Answer::left_out;
      for (const Broker::Subscriber& subscriber : plan.subscribers)
        broker_->dismiss(subscriber.reader,
                         fmt::format("one step takes {} bytes, but the queue of the run holds {:.0f}; it should have a "
                                     "larger `coupling.queue`, or the reader demand less",
                                     bytes, around_.config.queue_bytes));
    }
    report(withdrawn, step);
    decision = {verdict_.answer, verdict_.number, verdict_.queue_bytes};
  }
  // With what has gone meanwhile, so that its memory is there for this one.
  std::string told;
  if (is_first()) {
    told.assign(reinterpret_cast<const char*>(&decision), sizeof decision);
    for (const std::int64_t number : broker_->take_finished())
      told.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  told = broadcast_patiently(group_, told);
  std::memcpy(&decision, told.data(), sizeof decision);
  std::vector<std::int64_t> finished((told.size() - sizeof decision) / sizeof(std::int64_t));
  if (!finished.empty())
    std::memcpy(finished.data(), told.data() + sizeof decision, finished.size() * sizeof(std::int64_t));
  free(finished);
  return decision;
}

void Stream::free(std::span<const std::int64_t> finished) {
  for (const std::int64_t number : finished) station_.blocks().remove(number);
  released_ += std::ssize(finished);
  pool_.give_back(station_.blocks().empty_buffers());
}

void Stream::report(const std::vector<Broker::Withdrawn>& withdrawn, std::int64_t step) {
  for (const Broker::Withdrawn& one : withdrawn) {
    around_.log.write("stream_dropped",
                      {{"step", one.step}, {"at_step", step}, {"reader", one.reader}, {"task", one.task}});
    for (std::size_t task = 0; task < around_.config.tasks.size(); ++task)
      if (around_.config.tasks[task].name == one.task) ++around_.books.of(task).dropped;
  }
}

// Returns whether it lies on disks.
bool Stream::send(const Plan& plan, const mesh::Snapshot& snapshot, std::vector<ParticleLabel> labels,
                  const Orders& orders, const Decision& decision) {
  number_ = decision.number;
  Announcement announcement;
  announcement.number = number_;
  announcement.first_step = around_.runner.first_step();
  for (const std::string& field : plan.fields) announcement.fields.push_back({field, snapshot.unit(field)});
  announcement.particles = std::move(labels);
  for (const Order& order : orders) {
    announcement.tasks.push_back(order.task);
    announcement.bytes.push_back(0);
  }
  ParticleLegs particles;
  if (route_.cells() > 0)
    group_.agree_on([&] { particles = ParticleLegs(route_, snapshot, announcement.particles, group_.rank()); });
  else
    group_.agree("");
  for (const std::string& field : plan.fields) snapshot.prepare(field);
  pool_.give_back(station_.blocks().empty_buffers());
  Cargo cargo = route_.cargo(plan.fields.size(), particles.words());
  cargo.load(pool_);
  const auto write = [&](std::size_t field, std::size_t level, const mesh::Box& box, const core::View4<double>& out) {
    snapshot.write(plan.fields[field], static_cast<int>(level), box, out);
  };
  route_.pack(plan.fields.size(), write, cargo);
  particles.pack(cargo);
  if (gateways_.are_any()) cargo = gateways_.brought(route_, std::move(cargo), plan.fields.size(), pool_);
  const bool is_stored = decision.answer == Broker::Answer::stored && group_.all(store(cargo, snapshot.moment.step));
  if (decision.answer == Broker::Answer::stored && !is_stored && is_first()) broker_->keep_in_memory(number_);
  const std::vector<mesh::Layout>& levels = gateways_.are_any() ? gateways_.levels() : levels_;
  station_.blocks().put(number_, std::make_shared<Shelf>(levels, group_.rank(), plan.fields.size(), std::move(cargo)));
  station_.wake();
  if (is_first()) offer(plan, announcement, snapshot);
  return is_stored;
}

// Where a disk takes nothing, it stays in memory, beyond the size of the queue.
bool Stream::store(Cargo& cargo, std::int64_t step) {
  std::string problem;
  try {
    cargo.store(spill_, pool_);
  } catch (const core::Error& error) {
    problem = error.what();
    if (around_.told.insert("stream spill").second) {
      around_.log.write("spill_failed", {{"step", step}, {"message", problem}});
      if (around_.warn) around_.warn("steps for readers stay in memory, beyond the queue (said once)\n" + problem);
    }
  }
  return problem.empty();
}

void Stream::offer(const Plan& plan, const Announcement& announcement, const mesh::Snapshot& snapshot) {
  Broker::Offer offer;
  offer.number = announcement.number;
  offer.message = to_message(announcement, snapshot);
  offer.message["kind"] = "step";
  offer.levels = {{"leaves", to_message(gateways_.told(snapshot.levels), {})}};
  if (!snapshot.with_refined.empty()) offer.levels["blocks"] = to_message(gateways_.told(snapshot.with_refined), {});
  const std::vector<std::string> known = mesh::names_of(snapshot.species());
  for (const Broker::Subscriber& subscriber : plan.subscribers)
    offer.own[subscriber.reader] = {{"own_fields", fields_for(subscriber.demand, snapshot.quantities())},
                                    {"own_species", species_for(subscriber.demand, known)}};
  broker_->offer(std::move(offer));
  station_.wake();
}

Standing Stream::standing() {
  if (!is_first()) return {.sent = number_};
  return {number_, broker_->done(), {}, broker_->silence_s()};
}

// Who takes nothing for too long meanwhile is let go.
void Stream::wait_for_readers_to(const std::function<bool()>& be_done) {
  const core::Stopwatch watch;
  wait_until(
      [&] {
        if (watch.seconds() > around_.config.timeout_s) broker_->drop_idle(around_.config.timeout_s);
        return be_done();
      },
      forever_s);
}

// What nobody wants any more is freed: once a step, where anything is under way.
void Stream::settle(std::int64_t count) {
  if (count > 0 && is_first()) wait_for_readers_to([&] { return broker_->done() >= count; });
  if (count > 0) broadcast_patiently(group_, "");
  if (is_first()) book_acknowledged();
  if (released_ == number_) return;
  free(group_.broadcast(is_first() ? broker_->take_finished() : std::vector<std::int64_t>{}));
}

void Stream::book_acknowledged() {
  for (const auto& [task, results] : broker_->take_acknowledged())
    for (std::size_t t = 0; t < around_.config.tasks.size(); ++t)
      if (around_.config.tasks[t].name == task) around_.books.of(t).count += results;
  if (const std::string failure = station_.failure(); !failure.empty() && around_.told.insert("stream").second)
    around_.log.write("stream_failed", {{"message", failure}});
}

void Stream::finish(Drain drain) {
  if (is_first()) {
    if (drain == Drain::no) report(broker_->withdraw_waiting(), number_);
    const core::Stopwatch watch;  // readers that are away may come back for what waits
    wait_for_readers_to([&] {
      return broker_->is_empty() || (!broker_->has_readers() && watch.seconds() > around_.config.stream.timeout_s);
    });
    report(broker_->withdraw_waiting(), number_);
  }
  broadcast_patiently(group_, "");
  settle(0);
  station_.end(farewell_s);
  if (const std::int64_t untold = group_.sum(refusals_untold_.load()); untold > 0)
    around_.log.write("stream_refused", {{"more", untold}});
}

}  // namespace

TransportEntry stream() {
  return {.name = name,
          .documentation = "by other jobs, which attach while the run goes on",
          .make = [](Surroundings& around) { return std::make_unique<Stream>(around); },
          .has_queue = true};
}

}  // namespace sidestream::couple
