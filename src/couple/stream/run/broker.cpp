#include "couple/stream/run/broker.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "couple/publish/protocol.hpp"
#include "couple/stream/run/refusal.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;
using GivesWay = PolicyEntry::GivesWay;
using Otherwise = PolicyEntry::Otherwise;

namespace {

constexpr double again_s = 2.0;  // after which a reader that asks is told again

}  // namespace

Broker::Broker(Run run, Options options, Tell tell, Answers answers)
    : run_(std::move(run)),
      options_(options),
      tell_(std::move(tell)),
      answers_(std::move(answers)),
      comings_(options.most_comings, options.comings_per_s) {
  answers_["status"] = [this](const json&) { return json{{"kind", "status"}, {"run", run_.id}, {"status", status()}}; };
  answers_["configuration"] = [this](const json&) {
    return json{{"kind", "configuration"}, {"configuration", run_.configuration}};
  };
}

void Broker::serve(stream::Server& server) {
  while (const std::optional<stream::Message> message = server.receive())
    server.send(message->peer, packed(answer(message->peer, message->head, message->key)));
  const std::lock_guard lock(mutex_);
  std::vector<int> silent;
  for (auto& [id, reader] : readers_) {
    if (reader.is_here && reader.since_sign.seconds() > options_.timeout_s) silent.push_back(id);
    give(server, reader);
  }
  for (const int id : silent)
    leave(id, fmt::format("it was silent for {:.3g} s", options_.timeout_s), !readers_.at(id).once_as.empty());
}

Broker::Reader* Broker::reader_of(const std::string& peer) {
  const auto found = std::ranges::find_if(
      readers_, [&](const auto& entry) { return entry.second.peer == peer && entry.second.is_here; });
  return found == readers_.end() ? nullptr : &found->second;
}

// Whoever speaks nonsense is let go.
json Broker::answer(const std::string& peer, const std::string& message, const std::string& key) {
  try {
    json request = unpacked(message);
    const std::string kind = request.at("kind");
    if (const auto answers = answers_.find(kind); answers != answers_.end()) {
      request["key"] = key;
      return answers->second(request);
    }
    require_integers(request);
    const std::lock_guard lock(mutex_);
    if (kind == "hello") return welcome(peer, request);
    Reader* const reader = reader_of(peer);
    if (reader == nullptr) return refusal("this run does not know the reader any more", "attach again");
    if (kind == "state") return hear(*reader, request);
    if (kind != "leave") return refusal("there is no request of this kind");
    leave(reader->id, "it left", request.value("may_return", false) && !reader->once_as.empty());
    return {{"kind", "bye"}};
  } catch (const core::Error& error) {
    return refusal(error.message(), error.hint());
  } catch (const json::exception&) {
    const std::lock_guard lock(mutex_);
    if (Reader* const reader = reader_of(peer)) leave(reader->id, "it spoke nonsense", false);
    return refusal("this is no message of a reader");
  }
}

json Broker::hear(Reader& reader, const json& request) {
  reader.since_sign.restart();
  reader.sequence = request.at("sequence");
  reader.levels = request.at("levels");
  reader.bytes = request.at("bytes");
  const auto told = [&](const char* key) { return std::min(request.at(key).get<std::int64_t>(), reader.last); };
  const std::int64_t received = told("received"), done = told("done");
  reader.received = std::max(reader.received, received);
  if (done > reader.done) {
    reader.done = done;
    if (!reader.once_as.empty() || request.value("is_result", false)) ++acknowledged_[reader.task];
  }
  reader.after = std::max(reader.after, told("after"));
  release(reader, reader.once_as.empty() ? reader.received : reader.done);
  if (reader.is_dismissed) return ending(reader);
  return {{"kind", "state"},
          {"sequence", reader.sequence},
          {"waiting", reader.waiting.size()},
          {"dropped", reader.dropped}};
}

// A reader is told of its next step when it asks, and again if it has not heard.
void Broker::give(stream::Server& server, Reader& reader) {
  if (!reader.is_here || reader.is_dismissed || reader.sequence == 0) return;
  if (reader.last <= reader.after) {
    if (reader.waiting.empty()) return;
    Entry& next = entries_.at(reader.waiting.front());
    if (!next.is_offered || !may_begin(next)) return;
    reader.last = reader.waiting.front();
    reader.held.push_back(reader.last);
    reader.waiting.pop_front();
    next.begun_by.insert(reader.id);
    ++reader.given;
    reader.is_told = false;
    reader.since_taken.restart();
  }
  const bool has_it = reader.received >= reader.last || reader.held.empty();
  if (has_it || (reader.is_told && reader.since_told.seconds() < again_s)) return;
  const Entry& entry = entries_.at(reader.last);
  json message = entry.offer.message;
  message.update(entry.offer.own.at(reader.id));
  message["levels_version"] = entry.levels;
  if (reader.levels != entry.levels) message["levels"] = entry.offer.levels;
  reader.is_told = server.send(reader.peer, packed(message));
  reader.since_told.restart();
}

// What lies on a disk comes into memory when somebody begins to read it.
bool Broker::may_begin(Entry& entry) {
  if (!entry.is_stored) return true;
  if (!has_room(entry.bytes) && bytes_ > 0) return false;
  entry.is_stored = false;
  bytes_ += entry.bytes;
  return true;
}

void Broker::release(Reader& reader, std::int64_t up_to) {
  while (!reader.held.empty() && reader.held.front() <= up_to) {
    const std::int64_t number = reader.held.front();
    reader.held.pop_front();
    reader.since_taken.restart();
    forget(reader.id, number);
  }
}

void Broker::forget(int reader, std::int64_t number) {
  const auto found = entries_.find(number);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.wanted_by.erase(reader);
  entry.begun_by.erase(reader);
  if (!entry.wanted_by.empty() || !entry.is_offered) return;
  if (!entry.is_stored) bytes_ -= entry.bytes;
  finished_.push_back(number);
  entries_.erase(found);
}

// One that may return keeps what waits for it where a disk has room for more; else it will be told what it has lost.
void Broker::leave(int id, const std::string& reason, bool may_return) {
  Reader& reader = readers_.at(id);
  const bool keeps = may_return && options_.policy->otherwise == Otherwise::store;
  tell_("stream_leave", {{"reader", id},
                         {"who", reader.who},
                         {"task", reader.task},
                         {"reason", reason},
                         {"given", reader.given},
                         {"dropped", reader.dropped},
                         {"may_return", may_return},
                         {"lost", may_return && !keeps ? steps_of(reader) : std::vector<std::int64_t>{}}});
  for (std::deque<std::int64_t>* const numbers : {&reader.held, &reader.waiting}) {
    std::deque<std::int64_t> kept;
    for (const std::int64_t number : *numbers) {
      Entry& entry = entries_.at(number);
      if (keeps) {
        kept.push_back(number);
        continue;
      }
      if (may_return) reader.lost.push_back(entry.step), ++reader.dropped;
      forget(id, number);
    }
    *numbers = std::move(kept);
  }
  if (may_return) {
    reader.is_here = false;
    reader.is_told = false;
  } else {
    readers_.erase(id);
  }
}

json Broker::ending(const Reader& reader) {
  return {{"kind", "end"},
          {"reason", reader.is_dismissed ? reader.reason : "the run has ended"},
          {"is_failure", reader.is_dismissed},
          {"dropped", reader.dropped}};
}

void Broker::tell_the_end(stream::Server& server) {
  while (const std::optional<stream::Message> message = server.receive())
    server.send(message->peer, packed(answer(message->peer, message->head)));
  const std::lock_guard lock(mutex_);
  for (auto& [id, reader] : readers_)
    if (reader.is_here && (!reader.is_told || reader.since_told.seconds() > 0.5)) {
      reader.is_told = server.send(reader.peer, packed(ending(reader)));
      reader.since_told.restart();
    }
}

int Broker::count_readers() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::ranges::count_if(readers_, [](const auto& reader) { return reader.second.is_here; }));
}

std::vector<Broker::Subscriber> Broker::subscribers(const std::vector<std::string>& tasks) const {
  const std::lock_guard lock(mutex_);
  std::vector<Subscriber> all;
  for (const auto& [id, reader] : readers_) {
    if (takes(reader) && std::ranges::find(tasks, reader.task) != tasks.end()) all.push_back({id, reader.demand});
  }
  return all;
}

// What waits for one that is away needs a disk.
bool Broker::takes(const Reader& reader) const {
  return !reader.is_dismissed && (reader.is_here || options_.policy->otherwise == Otherwise::store);
}

void Broker::dismiss(int id, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const auto found = readers_.find(id);
  if (found == readers_.end()) return;
  found->second.is_dismissed = true;
  found->second.reason = reason;
  for (const std::int64_t number : std::exchange(found->second.waiting, {})) forget(id, number);
  tell_("stream_dismissed", {{"reader", id}, {"who", found->second.who}, {"reason", reason}});
}

std::vector<std::int64_t> Broker::steps_of(const Reader& reader) const {
  std::vector<std::int64_t> steps;
  for (const auto* numbers : {&reader.held, &reader.waiting})
    for (const std::int64_t number : *numbers) steps.push_back(entries_.at(number).step);
  return steps;
}

std::int64_t Broker::backlog_of(const Reader& reader) const {
  std::int64_t bytes = 0;
  for (const auto* numbers : {&reader.held, &reader.waiting})
    for (const std::int64_t number : *numbers)
      if (const Entry& entry = entries_.at(number); !entry.is_stored) bytes += entry.bytes;
  return bytes;
}

Broker::Withdrawn Broker::withdraw(Reader& reader, std::int64_t number) {
  Withdrawn withdrawn{reader.who, reader.task, entries_.at(number).step};
  std::erase(reader.waiting, number);
  ++reader.dropped;
  forget(reader.id, number);
  return withdrawn;
}

// A reader that is slow does not take the room of others: of several, none fills more than half of the queue.
void Broker::give_way(const std::vector<Subscriber>& subscribers, std::int64_t bytes, std::int64_t step,
                      Verdict& verdict) {
  const GivesWay gives_way = options_.policy->gives_way;
  const std::int64_t share = subscribers.size() > 1 ? options_.capacity_bytes / 2 : options_.capacity_bytes;
  for (const Subscriber& subscriber : subscribers) {
    const auto found = readers_.find(subscriber.reader);
    if (found == readers_.end() || !takes(found->second)) continue;
    Reader& reader = found->second;
    const auto may_go = [&] { return !reader.waiting.empty() && entries_.at(reader.waiting.front()).step != step; };
    const auto is_over = [&] {
      const std::int64_t backlog = backlog_of(reader);
      return backlog > 0 && backlog + bytes > share;
    };
    while (gives_way == GivesWay::all && may_go())
      verdict.withdrawn.push_back(withdraw(reader, reader.waiting.front()));
    while (gives_way == GivesWay::oldest && may_go() && is_over())
      verdict.withdrawn.push_back(withdraw(reader, reader.waiting.front()));
    if (options_.policy->otherwise == Otherwise::leave_out && subscribers.size() > 1)  // it was alone before
      while (!reader.waiting.empty() && backlog_of(reader) > share)
        verdict.withdrawn.push_back(withdraw(reader, reader.waiting.back()));
    if (options_.policy->otherwise == Otherwise::leave_out && is_over()) {
      ++reader.dropped;
      verdict.withdrawn.push_back({reader.who, reader.task, step});
    } else {
      verdict.readers.push_back(subscriber.reader);
    }
  }
  if (gives_way != GivesWay::oldest) return;
  for (auto entry = entries_.begin(); entry != entries_.end() && !has_room(bytes);) {
    const auto [number, waiting] = *entry++;
    if (!waiting.begun_by.empty() || waiting.step == step || waiting.is_stored) continue;
    for (const int id : waiting.wanted_by) verdict.withdrawn.push_back(withdraw(readers_.at(id), number));
  }
}

Broker::Verdict Broker::admit(const std::vector<Subscriber>& subscribers, std::int64_t bytes, std::int64_t step) {
  const std::lock_guard lock(mutex_);
  Verdict verdict;
  give_way(subscribers, bytes, step, verdict);
  verdict.queue_bytes = bytes_;
  if (verdict.readers.empty()) return verdict.answer = Answer::left_out, verdict;
  const bool some_are_stored = std::ranges::any_of(entries_, [](const auto& entry) { return entry.second.is_stored; });
  const bool all_are_away =
      std::ranges::none_of(verdict.readers, [&](int reader) { return readers_.at(reader).is_here; });
  if (has_room(bytes) && !some_are_stored && !all_are_away) {
    verdict.answer = Answer::taken;
  } else if (options_.policy->otherwise == Otherwise::leave_out) {
    verdict.answer = Answer::left_out;
    for (const int id : std::exchange(verdict.readers, {})) {
      Reader& reader = readers_.at(id);
      ++reader.dropped;
      verdict.withdrawn.push_back({reader.who, reader.task, step});
    }
    return verdict;
  } else if (options_.policy->otherwise == Otherwise::store) {
    verdict.answer = Answer::stored;
  } else {
    verdict.answer = options_.policy->otherwise == Otherwise::do_here ? Answer::do_here : Answer::full;
    return verdict;
  }
  verdict.number = ++number_;
  Entry& entry = entries_[number_];
  entry.bytes = bytes;
  entry.step = step;
  entry.is_stored = verdict.answer == Answer::stored;
  for (const int id : verdict.readers) {
    entry.wanted_by.insert(id);
    readers_.at(id).waiting.push_back(number_);
  }
  if (!entry.is_stored) bytes_ += bytes;
  verdict.queue_bytes = bytes_;
  return verdict;
}

void Broker::drop_idle(double longest_s) {
  const std::lock_guard lock(mutex_);
  std::vector<int> idle;
  for (const auto& [id, reader] : readers_)
    if (reader.is_here && backlog_of(reader) > 0 && reader.since_taken.seconds() > longest_s) idle.push_back(id);
  for (const int id : idle)
    leave(id, fmt::format("it took nothing for {:.3g} s, and the run waited for it", longest_s),
          !readers_.at(id).once_as.empty());
}

void Broker::offer(Offer offer) {
  const std::lock_guard lock(mutex_);
  const std::int64_t number = offer.number;
  const auto found = entries_.find(number);
  if (found == entries_.end()) return;
  if (offer.levels != levels_) levels_ = offer.levels, ++levels_version_;
  found->second.levels = levels_version_;
  found->second.offer = std::move(offer);
  found->second.is_offered = true;
  if (!found->second.wanted_by.empty()) return;
  if (!found->second.is_stored) bytes_ -= found->second.bytes;
  finished_.push_back(number);
  entries_.erase(found);
}

std::vector<std::int64_t> Broker::take_finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

std::vector<Broker::Withdrawn> Broker::withdraw_waiting() {
  const std::lock_guard lock(mutex_);
  std::vector<Withdrawn> all;
  for (auto& [id, reader] : readers_) {
    if (!reader.is_here) std::ranges::move(std::exchange(reader.held, {}), std::front_inserter(reader.waiting));
    while (!reader.waiting.empty()) all.push_back(withdraw(reader, reader.waiting.front()));
  }
  return all;
}

void Broker::keep_in_memory(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(number);
  if (found == entries_.end() || !std::exchange(found->second.is_stored, false)) return;
  bytes_ += found->second.bytes;
}

bool Broker::is_empty() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

std::int64_t Broker::done() const {
  const std::lock_guard lock(mutex_);
  const auto acknowledges = [&](int id) { return readers_.at(id).is_here && !readers_.at(id).once_as.empty(); };
  for (const auto& [number, entry] : entries_)
    if (std::ranges::any_of(entry.wanted_by, acknowledges)) return number - 1;
  return number_;
}

std::map<std::string, std::int64_t> Broker::take_acknowledged() {
  const std::lock_guard lock(mutex_);
  return std::exchange(acknowledged_, {});
}

double Broker::silence_s() const {
  const std::lock_guard lock(mutex_);
  double longest = 0.0;
  for (const auto& [id, reader] : readers_)
    if (!reader.held.empty() || !reader.waiting.empty()) longest = std::max(longest, reader.since_sign.seconds());
  return longest;
}

json Broker::status() const {
  const std::lock_guard lock(mutex_);
  json readers = json::array();
  for (const auto& [id, reader] : readers_)
    readers.push_back({{"reader", id},
                       {"who", reader.who},
                       {"task", reader.task},
                       {"ranks", reader.ranks},
                       {"layout", reader.layout},
                       {"is_here", reader.is_here},
                       {"given", reader.given},
                       {"waiting", reader.waiting.size()},
                       {"holds", reader.held.size()},
                       {"dropped", reader.dropped},
                       {"bytes", reader.bytes},
                       {"silence_s", reader.since_sign.seconds()}});
  return {{"readers", readers},
          {"queue_bytes", bytes_},
          {"queue_most_bytes", options_.capacity_bytes},
          {"when_full", options_.policy->name},
          {"published", number_}};
}

}  // namespace sidestream::couple
