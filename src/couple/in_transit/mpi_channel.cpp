#include "couple/in_transit/mpi_channel.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "couple/publish/protocol.hpp"
#include "couple/waiting.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

// Of the time of the simulation, for data that flow; and how long it is left alone at least, and at most.
constexpr double share_of_transfers = 0.1, shortest_rest_s = 0.5e-3, longest_rest_s = 20e-3;

// How many words of particles all ranks send to whom, on the first rank.
std::vector<ParticleFlow> gathered_flows(const comm::Communicator& group, const Publish& publish, int first_peer) {
  std::vector<ParticleFlow> flows;
  for (const Cargo::Message& message : publish.cargo.messages())
    flows.push_back({group.rank(), message.peer - first_peer, std::ssize(message.particles)});
  return group.gather(std::span<const ParticleFlow>(flows));
}

}  // namespace

MpiChannel::MpiChannel(Surroundings& around)
    : around_(around),
      joint_(around.roles.world()),
      group_(around.roles.group().duplicate()),
      mailbox_(joint_, around.roles.world_rank_of_sidecar(0)),
      timeout_s_(around.config.timeout_s) {}

Route MpiChannel::route_for(const std::vector<mesh::Layout>& levels) const {
  const comm::RankCounts& counts = around_.roles.counts();
  return {levels, group_.rank(), dealt(levels, counts.sidecars), counts.compute, around_.roles.sharers_of_memory()};
}

void MpiChannel::send(Publish publish, bool is_held) {
  const std::int64_t number = publish.announcement.number;
  if (!publish.announcement.particles.empty())
    publish.announcement.flows = gathered_flows(group_, publish, around_.roles.counts().compute);
  if (is_first()) {
    unannounced_.push_back({std::move(publish.announcement), std::move(publish.head)});
    start(is_held ? 0 : number);
  }
  shipments_.emplace_back(joint_, number, std::move(publish.cargo), pool(), is_held);
  since_progress_.restart();
}

// It may be the turn of a publish that is being made.
void MpiChannel::start(std::int64_t number) {
  may_start_ = std::max(may_start_, number);
  for (; !unannounced_.empty() && unannounced_.front().announcement.number <= may_start_; unannounced_.pop_front())
    announce(unannounced_.front());
}

void MpiChannel::announce(const Unannounced& publish) {
  announced_ = publish.announcement.number;
  if (publish.head.levels != levels_) command("levels", {{"levels", to_message(publish.head.levels, levels_)}});
  levels_ = publish.head.levels;
  command("publish", to_message(publish.announcement, publish.head));
}

void MpiChannel::withdraw(const Range& numbers) {
  std::erase_if(unannounced_, [&](const Unannounced& one) { return numbers.holds(one.announcement.number); });
  shipments_.remove_if([&](Shipment& shipment) {
    if (!numbers.holds(shipment.number())) return false;
    pool().give_back(std::move(shipment).release());
    return true;
  });
}

void MpiChannel::command(const char* kind, json body) {
  body["kind"] = kind;
  mailbox_.post(Tag::command, body);
  last_command_.restart();
}

bool MpiChannel::has_work() const {
  return !shipments_.empty() || !mailbox_.is_empty() ||
         (is_first() && (heard_.analysed < announced_ || last_command_.seconds() > 0.1 * timeout_s_));
}

void MpiChannel::progress() {
  const double most_s = share_of_transfers * since_progress_.seconds();
  const core::Stopwatch watch;
  try {
    do {
      drive();
    } while (!shipments_.empty() && shipments_.front().is_wanted() && watch.seconds() < most_s);
  } catch (const core::Error&) {
    failure_ = std::current_exception();  // of the disk: told at the next call that may throw
  }
  if (is_first() && last_command_.seconds() > 0.1 * timeout_s_) command("alive", json::object());
  // A call may take longer than it should: where there are more processes than cores, MPI yields to others.
  rest_s_ = std::clamp(watch.seconds() / share_of_transfers, shortest_rest_s, longest_rest_s);
  since_progress_.restart();
}

void MpiChannel::move() {
  if (failure_) std::rethrow_exception(failure_);
  drive();
}

// The sidecars take a publish after the one before it, so that only the first can be under way.
void MpiChannel::drive() {
  mailbox_.progress();
  while (!shipments_.empty()) {
    Shipment& first = shipments_.front();
    first.progress();
    if (!first.is_done()) return;
    pool().give_back(std::move(first).release());
    shipments_.pop_front();
  }
}

Heard MpiChannel::hear() {
  heard_.is_new = false;
  while (const auto reply = mailbox_.take(Tag::reply)) {
    heard_.is_new = true;
    if (reply->contains("farewell")) farewell_ = reply->at("farewell");
    if (reply->contains("received")) reply->at("received").get_to(heard_.received);
    if (!reply->contains("done")) continue;
    reply->at("done").get_to(heard_.analysed);
    if (reply->contains("file")) {
      const json& file = reply->at("file");
      outcomes_[heard_.analysed] = {file.at("error"), file.at("seconds"), file.at("io")};
    }
    if (!first_unwritten_ && !reply->at("is_written").get<bool>()) first_unwritten_ = heard_.analysed;
  }
  return heard_;
}

// What the sidecars have received goes at once.
void MpiChannel::release(std::int64_t number) {
  const auto is_gone = [&] {
    move();
    return shipments_.empty() || shipments_.front().number() > number;
  };
  if (!wait_until(is_gone, timeout_s_)) throw too_long("data to be handed over", timeout_s_);
}

std::optional<FileOutcome> MpiChannel::outcome_of(std::int64_t number) {
  const auto found = outcomes_.extract(number);
  return found.empty() ? std::nullopt : std::optional(std::move(found.mapped()));
}

void MpiChannel::stop() {
  if (is_first()) mailbox_.post(Tag::stop, json::object());
}

void MpiChannel::end() {
  if (is_first()) {
    command("end", json::object());
    const auto is_over = [&] {
      move();
      hear();
      return farewell_.has_value();
    };
    wait_until(is_over, timeout_s_);
  }
  if (!group_.broadcast(farewell_.has_value())) throw_together(group_, too_long("the sidecars to finish", timeout_s_));
  if (farewell_) take_over(*farewell_);
  wait_until([&] { return mailbox_.progress(); }, timeout_s_);
}

void MpiChannel::take_over(const json& totals) {
  for (std::size_t task = 0; task < totals.size(); ++task) {
    const json& part = totals[task];
    TaskTotals& own = around_.books.of(task);
    own.count += part.at("count").get<std::int64_t>();
    own.dropped += part.at("dropped").get<std::int64_t>();
    own.failed += part.at("failed").get<std::int64_t>();
    own.unwritten += part.at("unwritten").get<std::int64_t>();
    own.compute_s += part.at("compute_s").get<double>();
  }
}

}  // namespace sidestream::couple
