#include "couple/in_transit/outbox.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "couple/in_transit/particle_cargo.hpp"
#include "couple/in_transit/waiting.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

// Of the time of the simulation, for data that flow; and how long it is left alone at least, and at most.
constexpr double share_of_transfers = 0.1, shortest_rest_s = 0.5e-3, longest_rest_s = 20e-3;

// The counts of all ranks' legs, on the first rank.
std::vector<ParticleFlow> gathered_flows(const comm::Communicator& group, const Route& route, int first_peer,
                                         const std::vector<std::int64_t>& counts) {
  std::vector<ParticleFlow> flows;
  const std::vector<int> peers = route.peers();
  for (std::size_t leg = 0; leg < peers.size(); ++leg)
    flows.push_back({group.rank(), peers[leg] - first_peer, counts[leg]});
  return group.gather(std::span<const ParticleFlow>(flows));
}

}  // namespace

Outbox::Outbox(const comm::Roles& roles, const CouplingConfig& config)
    : roles_(&roles),
      joint_(roles.world().duplicate()),
      group_(roles.group().duplicate()),
      mailbox_(joint_, roles.world_rank_of_sidecar(0)),
      capacity_bytes_(static_cast<std::int64_t>(config.queue_bytes)),
      when_full_(config.when_full),
      timeout_s_(config.timeout_s) {}

Outbox::Room Outbox::take_room(std::int64_t bytes) {
  if (bytes > capacity_bytes_)
    throw_together(
        group_, core::Error(fmt::format("one publish takes {} bytes, but the queue holds {}", bytes, capacity_bytes_),
                            "key `coupling.queue`", "make the queue larger, or reduce what is analysed in transit"));
  const core::Stopwatch watch;
  const Verdict verdict = broadcast(group_.rank() == 0 ? decide(bytes) : Verdict{});
  wait_until_gone(verdict.received);
  if (verdict.answer == Answer::silent)
    throw_together(group_, too_long("the sidecars to take a publish out of the full queue", timeout_s_));
  return {verdict.answer == Answer::granted, verdict.queue_bytes, watch.seconds()};
}

Outbox::Verdict Outbox::decide(std::int64_t bytes) {
  Answer answer = has_room(bytes) ? Answer::granted : Answer::full;
  if (answer == Answer::full && when_full_ == WhenFull::block) {
    silence_.restart();
    const auto is_over = [&] { return has_room(bytes) || silence_.seconds() > timeout_s_; };
    wait_and_move(is_over, forever_s);
    answer = has_room(bytes) ? Answer::granted : Answer::silent;
  }
  if (answer == Answer::granted) {
    queue_.push_back({number_ + 1, bytes});
    queue_bytes_ += bytes;
  }
  return {answer, received_, queue_bytes_};
}

bool Outbox::has_room(std::int64_t bytes) {
  read_replies();
  return queue_bytes_ + bytes <= capacity_bytes_;
}

Outbox::Verdict Outbox::broadcast(Verdict verdict) {
  MPI_Request request = MPI_REQUEST_NULL;
  comm::check(MPI_Ibcast(&verdict, sizeof verdict, MPI_BYTE, 0, group_.raw(), &request), "MPI_Ibcast");
  const auto is_here = [&] {
    int done = 0;
    comm::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  };
  wait_and_move(is_here, forever_s);
  return verdict;
}

// While the first rank waits for the sidecars, they wait for the data of all ranks.
template <typename F>
bool Outbox::wait_and_move(F is_over, double timeout_s) {
  return wait_until(
      [&] {
        move();
        return is_over();
      },
      timeout_s);
}

void Outbox::read_replies() {
  while (const auto reply = mailbox_.take(Tag::reply)) {
    silence_.restart();
    if (reply->contains("farewell")) {
      farewell_ = reply->at("farewell");
      continue;
    }
    if (reply->contains("done")) {
      reply->at("done").get_to(done_);
      if (!first_unwritten_ && !reply->at("is_written").get<bool>()) first_unwritten_ = done_;
      continue;
    }
    reply->at("received").get_to(received_);
    while (!queue_.empty() && queue_.front().number <= received_) {
      queue_bytes_ -= queue_.front().bytes;
      queue_.pop_front();
    }
  }
}

void Outbox::command(const char* kind, json body) {
  if (group_.rank() != 0) return;
  body["kind"] = kind;
  mailbox_.post(Tag::command, body);
  last_command_.restart();
}

void Outbox::announce(const std::vector<mesh::Layout>& levels) {
  if (levels == levels_) return;
  if (group_.rank() == 0) command("levels", {{"levels", to_message(levels, levels_)}});
  levels_ = levels;
  route_ = Route(levels, group_.rank(), dealt(levels, roles_->counts().sidecars), roles_->counts().compute);
}

std::optional<ParticleLabel> Outbox::describe_particles(const mesh::Snapshot& snapshot) const {
  return label_of(group_, snapshot);
}

void Outbox::send(Announcement announcement, const mesh::Snapshot& snapshot) {
  announce(snapshot.levels);
  ParticleLegs particles(route_);
  std::size_t words_of_particle = 0;
  if (announcement.particles) {
    group_.agree_on([&] { particles = ParticleLegs(route_, snapshot, group_.rank()); });
    announcement.flows = gathered_flows(group_, route_, roles_->counts().compute, particles.counts());
    words_of_particle = announcement.particles->words();
  }
  announcement.number = ++number_;
  for (const FieldLabel& field : announcement.fields) snapshot.prepare(field.name);
  Cargo cargo = route_.cargo(announcement.fields.size(), words_of_particle, particles.counts(), pool_);
  const auto write = [&](std::size_t field, std::size_t level, const mesh::Box& box, const core::View4<double>& out) {
    snapshot.write(announcement.fields[field].name, static_cast<int>(level), box, out);
  };
  route_.pack(announcement.fields.size(), write, cargo);
  if (announcement.particles && snapshot.particles() != nullptr) particles.pack(*snapshot.particles(), cargo);
  command("publish", to_message(announcement, snapshot));
  shipments_.emplace_back(joint_, number_, std::move(cargo));
  since_progress_.restart();
}

bool Outbox::has_work() const {
  return !shipments_.empty() || !queue_.empty() || !mailbox_.is_empty() ||
         (group_.rank() == 0 && last_command_.seconds() > 0.1 * timeout_s_);
}

void Outbox::progress() {
  const double most_s = share_of_transfers * since_progress_.seconds();
  const core::Stopwatch watch;
  do {
    move();
  } while (!shipments_.empty() && shipments_.front().is_wanted() && watch.seconds() < most_s);
  if (group_.rank() == 0) {
    read_replies();
    if (last_command_.seconds() > 0.1 * timeout_s_) command("alive", json::object());
  }
  // A call may take longer than it should: where there are more processes than cores, MPI yields to others.
  rest_s_ = std::clamp(watch.seconds() / share_of_transfers, shortest_rest_s, longest_rest_s);
  since_progress_.restart();
}

// The sidecars take a publish after the one before it, so that only the first can be under way.
void Outbox::move() {
  mailbox_.progress();
  while (!shipments_.empty()) {
    Shipment& first = shipments_.front();
    first.progress();
    if (!first.is_done()) return;
    pool_.give_back(std::move(first).release());
    shipments_.pop_front();
  }
}

// Up to what the sidecars have received, it ends at once.
void Outbox::wait_until_gone(std::int64_t number) {
  const auto is_gone = [&] { return shipments_.empty() || shipments_.front().number() > number; };
  if (!wait_and_move(is_gone, timeout_s_)) throw too_long("data to be handed over", timeout_s_);
}

std::int64_t Outbox::done() {
  if (group_.rank() == 0) read_replies();
  return done_;
}

void Outbox::wait_for_done(std::int64_t count) {
  if (group_.rank() == 0) {
    silence_.restart();
    const auto is_over = [&] { return done() >= count || silence_.seconds() > timeout_s_; };
    wait_and_move(is_over, forever_s);
  }
  const Verdict verdict = broadcast({done_ >= count ? Answer::granted : Answer::silent, count, 0});
  if (verdict.answer == Answer::silent) throw_together(group_, too_long("the sidecars to analyse", timeout_s_));
  wait_until_gone(count);
}

json Outbox::end(Drain drain) {
  if (group_.rank() == 0) {
    if (drain == Drain::no) mailbox_.post(Tag::stop, json::object());
    command("end", json::object());
    silence_.restart();
    const auto is_over = [&] {
      read_replies();
      return farewell_ || silence_.seconds() > timeout_s_;
    };
    wait_and_move(is_over, forever_s);
  }
  const Verdict verdict = broadcast({farewell_ ? Answer::granted : Answer::silent, number_, 0});
  if (verdict.answer == Answer::silent) throw_together(group_, too_long("the sidecars to finish", timeout_s_));
  wait_until_gone(number_);
  wait_until([&] { return mailbox_.progress(); }, timeout_s_);
  return farewell_.value_or(json());
}

}  // namespace sidestream::couple
