#include "outbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "patience.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

Outbox::Outbox(const comm::Roles& roles, const CouplingConfig& config)
    : roles_(&roles),
      joint_(roles.world().duplicate()),
      group_(roles.group().duplicate()),
      mailbox_(joint_, roles.world_rank_of_sidecar(0)),
      capacity_bytes_(static_cast<std::int64_t>(config.queue_bytes)),
      when_full_(config.when_full),
      timeout_s_(config.timeout_s) {}

// Only after an error is anything still under way here.
Outbox::~Outbox() {
  for (Parcel& parcel : parcels_)
    for (MPI_Request& request : parcel.sends) {
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
}

Outbox::Room Outbox::take_room(std::int64_t bytes) {
  if (bytes > capacity_bytes_)
    throw_together(
        group_, core::Error(fmt::format("one publish takes {} bytes, but the queue holds {}", bytes, capacity_bytes_),
                            "key `coupling.queue`", "make the queue larger, or reduce what is analysed in transit"));
  const core::Stopwatch watch;
  const Verdict verdict = broadcast(group_.rank() == 0 ? decide(bytes) : Verdict{});
  release_parcels(verdict.received);
  if (verdict.answer == Answer::silent)
    throw_together(group_, too_long("the sidecars to take a publish out of the full queue", timeout_s_));
  return {verdict.answer == Answer::granted, verdict.queue_bytes, watch.seconds()};
}

Outbox::Verdict Outbox::decide(std::int64_t bytes) {
  Answer answer = has_room(bytes) ? Answer::granted : Answer::full;
  if (answer == Answer::full && when_full_ == WhenFull::block) {
    silence_.restart();
    const auto is_over = [&] { return has_room(bytes) || silence_.seconds() > timeout_s_; };
    wait_until(is_over, forever_s);
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

Outbox::Verdict Outbox::broadcast(Verdict verdict) const {
  MPI_Request request = MPI_REQUEST_NULL;
  comm::check(MPI_Ibcast(&verdict, sizeof verdict, MPI_BYTE, 0, group_.raw(), &request), "MPI_Ibcast");
  wait_for(std::span(&request, 1), forever_s, "the first rank that computes");
  return verdict;
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
  std::optional<ParticleParcel> particles;
  if (announcement.particles)
    group_.agree_on([&] { particles.emplace(route_, *announcement.particles, snapshot, group_.rank()); });
  announcement.number = ++number_;
  std::vector<Route::Source> fields(announcement.fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (int level = 0; level <= snapshot.finest_level(); ++level)
      fields[f].push_back(&snapshot.field(announcement.fields[f].name, level));
  Parcel parcel{number_, {}, static_cast<std::size_t>(route_.cells()) * fields.size(), std::move(particles), {}};
  parcel.buffer = pool_.take(parcel.elements);
  const std::span buffer(parcel.buffer.get(), parcel.elements);
  route_.pack(fields, buffer);
  command("publish", to_message(announcement, snapshot));
  parcel.sends = route_.send(joint_, buffer, fields.size());
  if (parcel.particles) {
    const std::vector<MPI_Request> sends = parcel.particles->send(joint_);
    parcel.sends.insert(parcel.sends.end(), sends.begin(), sends.end());
  }
  parcels_.push_back(std::move(parcel));
}

void Outbox::progress() {
  release_parcels(0);
  if (group_.rank() != 0) return;
  mailbox_.progress();
  read_replies();
  if (last_command_.seconds() > 0.1 * timeout_s_) command("alive", json::object());
}

// Frees the buffers that have been sent; those up to `received` have arrived, so that their requests end at once.
void Outbox::release_parcels(std::int64_t received) {
  std::erase_if(parcels_, [&](Parcel& parcel) {
    int done = 0;
    if (parcel.number <= received)
      wait_for(parcel.sends, timeout_s_, "data to be handed over", short_pause);
    else
      comm::check(MPI_Testall(static_cast<int>(parcel.sends.size()), parcel.sends.data(), &done, MPI_STATUSES_IGNORE),
                  "MPI_Testall");
    if (parcel.number > received && done == 0) return false;
    pool_.give_back(std::move(parcel.buffer), parcel.elements);
    return true;
  });
}

std::int64_t Outbox::done() {
  if (group_.rank() == 0) read_replies();
  return done_;
}

void Outbox::wait_for_done(std::int64_t count) {
  if (group_.rank() == 0) {
    silence_.restart();
    const auto is_over = [&] { return done() >= count || silence_.seconds() > timeout_s_; };
    wait_until(is_over, forever_s);
  }
  const Verdict verdict = broadcast({done_ >= count ? Answer::granted : Answer::silent, count, 0});
  if (verdict.answer == Answer::silent) throw_together(group_, too_long("the sidecars to analyse", timeout_s_));
  release_parcels(count);
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
    wait_until(is_over, forever_s);
  }
  const Verdict verdict = broadcast({farewell_ ? Answer::granted : Answer::silent, number_, 0});
  if (verdict.answer == Answer::silent) throw_together(group_, too_long("the sidecars to finish", timeout_s_));
  release_parcels(number_);
  wait_until([&] { return mailbox_.progress(); }, timeout_s_);
  return farewell_.value_or(json());
}

}  // namespace sidestream::couple
