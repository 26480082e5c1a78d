// Who comes: what a reader says of itself, and why it is let in or not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "couple/publish/protocol.hpp"
#include "couple/stream/run/broker.hpp"
#include "couple/stream/run/refusal.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;
using Otherwise = PolicyEntry::Otherwise;

namespace {

constexpr std::size_t most_readers = 1024, longest_name = 256;

// Of UTF-8, as all that reaches a log.
std::string text_in(const json& request, const char* key) {
  std::string text = request.at(key).get<std::string>();
  if (text.size() > longest_name) throw core::Error(fmt::format("`{}` is too long", key));
  static_cast<void>(json(text).dump());
  return text;
}

}  // namespace

// Throws core::Error, or a json::exception, for what is no reader of this run.
Broker::Reader Broker::reader_from(const std::string& peer, const json& request) const {
  Reader reader;
  reader.peer = peer;
  reader.who = text_in(request, "who");
  reader.task = text_in(request, "task");
  reader.once_as = text_in(request, "once_as");
  reader.layout = text_in(request, "layout");
  reader.ranks = request.at("ranks");
  if (reader.ranks < 1) throw core::Error("a reader has one rank or more", "", "give ranks = 1 or more");
  reader.demand = demand_from(request.at("demand"));
  reader.does_task = request.value("does_task", false);
  if (run_.tasks.empty())
    throw core::Error("the run streams nothing", "", "give a task of it `transport = \"stream\"`");
  if (reader.task.empty() && run_.tasks.size() == 1) reader.task = run_.tasks.front();
  if (reader.task.empty())
    throw core::Error("the run has several streams", "",
                      fmt::format("name one of its tasks: {}", fmt::join(run_.tasks, ", ")));
  if (std::ranges::find(run_.tasks, reader.task) == run_.tasks.end())
    throw core::unknown_name("task of the transport `stream`", reader.task, run_.tasks);
  if (!reader.once_as.empty() && options_.policy->otherwise != Otherwise::wait &&
      options_.policy->otherwise != Otherwise::store)
    throw core::Error(fmt::format("a run whose policy is \"{}\" leaves steps out, and this reader wants each of them",
                                  options_.policy->name),
                      "", "run it with `coupling.when_full` \"block\" or \"spill\"");
  const bool is_done_by_another = std::ranges::any_of(readers_, [&](const auto& entry) {
    const Reader& other = entry.second;
    return other.is_here && other.does_task && other.task == reader.task && other.peer != peer &&
           (reader.once_as.empty() || other.once_as != reader.once_as);
  });
  if (reader.does_task && is_done_by_another)
    throw core::Error(fmt::format("another job does the task `{}`", reader.task), "",
                      "read its steps with sidestream.stream, or wait until that job has gone");
  return reader;
}

json Broker::welcome(const std::string& peer, const json& request) {
  const json& version = request.at("version");
  if (version != stream_version)
    return refusal(
        fmt::format("the run speaks version {} of the protocol, the reader {}", stream_version, version.dump()),
        "both have to be of the same version of Sidestream");
  Reader reader = reader_from(peer, request);
  if (!comings_.take()) {
    json later = refusal(fmt::format("{:.0f} readers have come within a short time", options_.most_comings),
                         fmt::format("one more may come every {:.3g} s", 1.0 / options_.comings_per_s));
    later["may_ask_again"] = true;
    return later;
  }
  if (Reader* const same = reader_of(peer)) leave(same->id, "it came again", !same->once_as.empty());
  if (readers_.size() >= most_readers && !forget_who_is_away())
    return refusal("the run has as many readers as it takes");
  const std::vector<std::int64_t> lost = take_over_from_before(reader);
  tell_("stream_attach", {{"reader", reader.id},
                          {"who", reader.who},
                          {"task", reader.task},
                          {"ranks", reader.ranks},
                          {"demand", to_json(reader.demand)},
                          {"once_as", reader.once_as}});
  json answer = {{"kind", "welcome"},
                 {"reader", reader.id},
                 {"run", run_.id},
                 {"task", reader.task},
                 {"configuration", run_.configuration},
                 {"addresses", run_.addresses},
                 {"plain_addresses", run_.plain_addresses},
                 {"policy", options_.policy->name},
                 {"lost", lost}};
  readers_[reader.id] = std::move(reader);
  return answer;
}

// Gives a reader its number, and what waits for the one of before whose name it has. Returns the steps that are lost.
std::vector<std::int64_t> Broker::take_over_from_before(Reader& reader) {
  const auto before = std::ranges::find_if(readers_, [&](const auto& entry) {
    return !reader.once_as.empty() && entry.second.once_as == reader.once_as && entry.second.task == reader.task;
  });
  if (before == readers_.end()) {
    reader.id = ++last_reader_;
    return {};
  }
  Reader& same = before->second;
  if (same.is_here)
    tell_("stream_leave", {{"reader", same.id}, {"who", same.who}, {"reason", "another took its name"}});
  reader.id = same.id;
  reader.waiting = std::move(same.held);  // to be given again
  std::ranges::move(same.waiting, std::back_inserter(reader.waiting));
  for (const std::int64_t number : reader.waiting) entries_.at(number).begun_by.erase(same.id);
  reader.dropped = same.dropped;
  std::vector<std::int64_t> lost = std::move(same.lost);
  readers_.erase(before);
  return lost;
}

// Of those that may return, one that has done nothing yet, or else the one that has been away for longest.
bool Broker::forget_who_is_away() {
  const auto worth = [](const Reader& reader) {
    return std::tuple(reader.is_here, reader.done > 0, -reader.since_sign.seconds());
  };
  const auto least = std::ranges::min_element(readers_, {}, [&](const auto& entry) { return worth(entry.second); });
  if (least == readers_.end() || least->second.is_here) return false;
  leave(least->first, "others came, and it had been away", false);
  return true;
}

}  // namespace sidestream::couple
