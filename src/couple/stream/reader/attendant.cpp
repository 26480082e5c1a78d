#include "couple/stream/reader/attendant.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "couple/publish/protocol.hpp"
#include "couple/stream/demand.hpp"
#include "couple/stream/reader/inquirer.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds sign_every{1000}, look_every{100};
constexpr double farewell_s = 1.0;

bool is_farewell(const stream::Message& message) {
  try {
    const std::string kind = unpacked(message.head).at("kind");
    return kind == "bye" || kind == "refused";
  } catch (const std::exception&) {
    return false;
  }
}

std::string who_am_i() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const passwd* const user = ::getpwuid(::geteuid());
  return fmt::format("{}@{}:{}", user != nullptr ? user->pw_name : fmt::format("{}", ::geteuid()), host.data(),
                     ::getpid());
}

core::Error silent(const std::string& address, double timeout_s, bool is_encrypted) {
  return core::Error(
      fmt::format("waited {:.3g} s of {:.3g} s for the run at {}, which says nothing", timeout_s, timeout_s, address),
      "",
      is_encrypted ? "does it still run, can this machine reach it, and does it know this key (`allowed` of its folder "
                     "of keys)?"
                   : "does it still run, can this machine reach it, and does it ask for keys?");
}

}  // namespace

Attendant::Attendant(const MeetingPoint& where, const stream::Security& security, const ReaderOptions& options,
                     int ranks, Relocation& relocation)
    : options_(options),
      relocation_(relocation),
      client_(where.address, security, stream::random_name(), client_limits, true) {
  const json hello = {{"kind", "hello"},
                      {"version", stream_version},
                      {"who", who_am_i()},
                      {"task", options.task},
                      {"once_as", options.once_as},
                      {"does_task", options.does_task},
                      {"layout", options.layout->name},
                      {"ranks", ranks},
                      {"demand", to_json(options.demand)}};
  client_.send(packed(hello));
  const core::Stopwatch watch;
  const stream::Socket* const socket = &client_;
  while (watch.seconds() < options.timeout_s) {
    stream::wait({&socket, 1}, nullptr, milliseconds(50));
    if (const auto refusal = refusal_of(client_, where.address, security)) throw Refusal(*refusal);
    relocation.check();
    while (const std::optional<stream::Message> message = client_.receive()) {
      json answer = unpacked(message->head);
      if (answer.value("kind", "") == "refused") {
        const Refusal refusal("the run refuses this reader: " + answer.value("reason", ""), where.address,
                              answer.value("hint", ""));
        if (answer.value("may_ask_again", false)) throw core::Error(refusal);
        throw refusal;
      }
      if (answer.value("kind", "") != "welcome") continue;
      welcome_ = std::move(answer);
      thread_ = std::thread([this] { work(); });
      return;
    }
  }
  throw silent(where.address, options.timeout_s, security.own.has_value());
}

Attendant::~Attendant() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_up_.call();
  thread_.join();
  client_.send(packed(state()));
  client_.send(packed(json{{"kind", "leave"}, {"may_return", !leaves_for_good_}}));
  const stream::Socket* const socket = &client_;
  const core::Stopwatch watch;
  while (watch.seconds() < farewell_s) {
    stream::wait({&socket, 1}, nullptr, milliseconds(20));
    while (const std::optional<stream::Message> message = client_.receive())
      if (is_farewell(*message)) return;
  }
}

json Attendant::state() {
  const std::lock_guard lock(mutex_);
  return {{"kind", "state"},
          {"sequence", ++sequence_},
          {"after", asks_ ? after_ : -1},
          {"received", received_},
          {"done", done_},
          {"levels", levels_},
          {"bytes", bytes_},
          {"is_result", options_.does_task}};
}

void Attendant::work() {
  const stream::Socket* const socket = &client_;
  core::Stopwatch since_told;
  client_.send(packed(state()));
  while (true) {
    stream::wait({&socket, 1}, &wake_up_, sign_every);
    bool is_to_be_told = since_told.seconds() > 0.5 * std::chrono::duration<double>(sign_every).count();
    while (const std::optional<stream::Message> message = client_.receive()) take(*message);
    const bool has_begun_anew = relocation_.has_been();
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
      is_to_be_told = std::exchange(has_changed_, false) || is_to_be_told;
      if (!news_ && since_sign_.seconds() > options_.timeout_s)
        news_ = News{Kind::silence, {}, fmt::format("the run was silent for {:.3g} s", options_.timeout_s)};
      else if (!news_ && has_begun_anew)
        news_ = News{Kind::silence, {}, "the run has begun anew"};
      if (news_) there_is_news_.notify_all();
    }
    if (!is_to_be_told) continue;
    client_.send(packed(state()));
    since_told.restart();
  }
}

// What is no message of a run is left alone: the run is then silent.
void Attendant::take(const stream::Message& message) {
  try {
    json told = unpacked(message.head);
    const std::string kind = told.at("kind");
    const std::lock_guard lock(mutex_);
    since_sign_.restart();
    dropped_ = told.value("dropped", dropped_);
    if (kind == "step" && told.at("number").get<std::int64_t>() > received_)
      news_ = News{Kind::step, std::move(told), {}};
    else if (kind == "end")
      news_ = News{told.value("is_failure", false) ? Kind::dismissed : Kind::end, {}, told.value("reason", "")};
    else if (kind == "refused")
      news_ = News{Kind::let_go, {}, told.value("reason", "")};
    there_is_news_.notify_all();
  } catch (const core::Error&) {
  } catch (const json::exception&) {
  }
}

Attendant::News Attendant::next(std::int64_t number) {
  std::unique_lock lock(mutex_);
  after_ = number;
  asks_ = has_changed_ = true;
  wake_up_.call();
  while (!there_is_news_.wait_for(lock, look_every, [this] { return news_.has_value(); })) {
    if (!options_.is_interrupted) continue;
    lock.unlock();
    if (options_.is_interrupted()) return {Kind::interrupted, {}, "the wait for a step was interrupted"};
    lock.lock();
  }
  News news = *news_;
  if (news.kind == Kind::step) news_.reset();
  return news;
}

std::string Attendant::reason_to_let_go() {
  const auto is_let_go = [this] { return news_ && news_->kind == Kind::let_go; };
  std::unique_lock lock(mutex_);
  return there_is_news_.wait_for(lock, 2 * sign_every, is_let_go) ? news_->reason : "";
}

bool Attendant::has_next() const {
  const std::lock_guard lock(mutex_);
  return news_.has_value() && news_->kind == Kind::step;
}

void Attendant::receive(std::int64_t number, std::int64_t levels, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  received_ = number;
  levels_ = levels;
  bytes_ += bytes;
  has_changed_ = true;
  wake_up_.call();
}

void Attendant::finish(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  if (number <= done_) return;
  done_ = number;
  has_changed_ = true;
  wake_up_.call();
}

std::int64_t Attendant::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace sidestream::couple
