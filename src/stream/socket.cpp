#include "sidestream/stream/socket.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "stream/context.hpp"
#include "stream/doorman.hpp"
#include "stream/monitor.hpp"

namespace sidestream::stream {

namespace {

constexpr int silence_ms = 10000, linger_ms = 1000, handshake_ms = 5000;
constexpr int ask_after_s = 2, ask_times = 4;  // a peer whose host may be gone

void set(void* socket, int option, int value) {
  core::require(zmq_setsockopt(socket, option, &value, sizeof value) == 0, "ZeroMQ knows its options");
}

void set(void* socket, int option, const std::string& value) {
  core::require(zmq_setsockopt(socket, option, value.data(), value.size()) == 0, "ZeroMQ knows its options");
}

void* make_socket(int type, const Limits& limits) {
  void* const socket = zmq_socket(context(), type);
  if (socket == nullptr) throw core::Error(std::string("there is no socket to be had: ") + zmq_strerror(zmq_errno()));
  set(socket, ZMQ_LINGER, linger_ms);
  set(socket, ZMQ_SNDHWM, limits.to_go);
  set(socket, ZMQ_RCVHWM, limits.waiting);
  // Not by heartbeats of ZeroMQ: one that is due where the peer has hung up and messages wait ends the process (4.3.4).
  set(socket, ZMQ_TCP_KEEPALIVE, 1);
  set(socket, ZMQ_TCP_KEEPALIVE_IDLE, ask_after_s);
  set(socket, ZMQ_TCP_KEEPALIVE_INTVL, ask_after_s);
  set(socket, ZMQ_TCP_KEEPALIVE_CNT, ask_times);
  set(socket, ZMQ_TCP_MAXRT, silence_ms);
  set(socket, ZMQ_HANDSHAKE_IVL, handshake_ms);
  const auto most = static_cast<std::int64_t>(limits.message_bytes);
  core::require(zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) == 0, "ZeroMQ limits messages");
  return socket;
}

struct Part {
  zmq_msg_t message;

  Part() { zmq_msg_init(&message); }
  ~Part() { zmq_msg_close(&message); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  std::string text() { return {static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message)}; }
};

// Each connection takes a file of the process until whoever made it has said who he is, or `handshake_ms` are over: as
// many as the system allows, so that strangers leave some for checkpoints.
void raise_most_files() {
  constexpr rlim_t enough = 65536;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t most = std::min(files.rlim_max, enough);
  if (files.rlim_cur >= most) return;
  files.rlim_cur = most;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

std::ptrdiff_t most_files() {
  rlimit files{};
  constexpr std::ptrdiff_t usual = 1024, enough = 1 << 30;
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<std::ptrdiff_t>(std::min<rlim_t>(files.rlim_cur, enough))
                                                 : usual;
}

std::ptrdiff_t open_files() {
  std::error_code problem;
  const std::filesystem::directory_iterator files("/proc/self/fd", problem);
  if (problem == std::errc::too_many_files_open) return most_files();
  return std::distance(files, {});
}

bool receive_part(void* socket, zmq_msg_t& into) {
  return zmq_msg_recv(&into, socket, ZMQ_DONTWAIT) >= 0;
}

bool send_text(void* socket, std::string_view text, int flags) {
  return zmq_send(socket, text.data(), text.size(), flags | ZMQ_DONTWAIT) >= 0;
}

}  // namespace

struct Body::Impl {
  zmq_msg_t message;
};

Body::Body() = default;

Body::Body(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) : impl_(std::make_unique<Impl>()) {
  auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  const auto free = [](void*, void* hint) { delete static_cast<std::shared_ptr<const void>*>(hint); };
  void* const data = const_cast<std::byte*>(bytes.data());  // nobody writes there
  if (zmq_msg_init_data(&impl_->message, data, bytes.size(), free, kept.get()) != 0) throw std::bad_alloc();
  kept.release();
}

Body::~Body() {
  if (impl_) zmq_msg_close(&impl_->message);
}
Body::Body(Body&& other) noexcept = default;
Body& Body::operator=(Body&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

std::span<const std::byte> Body::bytes() const {
  if (!impl_) return {};
  return {static_cast<const std::byte*>(zmq_msg_data(&impl_->message)), zmq_msg_size(&impl_->message)};
}

struct Server::Impl {
  void* socket = nullptr;
  std::string domain;              // by which the doorman knows it; empty: everybody is let in
  std::optional<Monitor> monitor;  // of connections that are made
  std::ptrdiff_t files_at_first = 0;
  int news = 0;
  bool is_bound = true;
  core::Stopwatch since_looked{};

  ~Impl() {
    monitor.reset();
    if (socket != nullptr) zmq_close(socket);
    if (!domain.empty()) Doorman::instance().leave(domain);
  }

  // Half of the files that there are at first are for connections. Beyond that nobody new is heard until some have
  // gone, as silent ones do after `handshake_ms`: so strangers leave files for checkpoints and results.
  void keep_files_free(const std::string& address) {
    constexpr int look_after = 16;  // connections
    constexpr double look_every_s = 0.5;
    while (monitor->next()) ++news;
    if (is_bound ? news < look_after : since_looked.seconds() < look_every_s) return;
    news = 0;
    since_looked.restart();
    const std::ptrdiff_t most = (files_at_first + most_files()) / 2;
    if (is_bound && open_files() > most)
      is_bound = zmq_unbind(socket, address.c_str()) != 0;
    else if (!is_bound && open_files() < (files_at_first + most) / 2)
      is_bound = zmq_bind(socket, address.c_str()) == 0;
  }
};

Server::Server(const std::string& address, const Security& security, const Limits& limits, Refused refused)
    : impl_(std::make_unique<Impl>()) {
  raise_most_files();
  impl_->socket = make_socket(ZMQ_ROUTER, limits);
  set(impl_->socket, ZMQ_ROUTER_MANDATORY, 1);
  set(impl_->socket, ZMQ_ROUTER_HANDOVER, 1);
  if (security.own) {
    impl_->domain = Doorman::instance().guard(security.allowed, std::move(refused));
    set(impl_->socket, ZMQ_CURVE_SERVER, 1);
    set(impl_->socket, ZMQ_CURVE_SECRETKEY, security.own->secret_key);
    set(impl_->socket, ZMQ_ZAP_DOMAIN, impl_->domain);
  }
  impl_->monitor.emplace(impl_->socket, ZMQ_EVENT_ACCEPTED);
  if (zmq_bind(impl_->socket, address.c_str()) != 0)
    throw core::Error(fmt::format("the address {} cannot be had: {}", address, zmq_strerror(zmq_errno())), "",
                      "an address is tcp://HOST:PORT, of this machine and free, or tcp://HOST:* for any port");
  std::array<char, 512> bound{};
  std::size_t length = bound.size();
  core::require(zmq_getsockopt(impl_->socket, ZMQ_LAST_ENDPOINT, bound.data(), &length) == 0,
                "ZeroMQ tells where it is bound");
  address_ = bound.data();
  impl_->files_at_first = open_files();
}
Server::~Server() = default;

Watched Server::watched() const {
  return {.socket = impl_->socket};
}

// Whoever sends more parts than two, or fewer, speaks something else.
std::optional<Message> Server::receive() {
  impl_->keep_files_free(address_);
  while (true) {
    Part peer, head;
    if (!receive_part(impl_->socket, peer.message)) return std::nullopt;
    Message message;
    int parts = 0;
    for (bool has_more = zmq_msg_more(&peer.message) != 0; has_more; ++parts) {
      if (parts == 1) {
        message.body.impl_ = std::make_unique<Body::Impl>();
        zmq_msg_init(&message.body.impl_->message);
      }
      Part other;
      zmq_msg_t& into = parts == 0 ? head.message : parts == 1 ? message.body.impl_->message : other.message;
      if (!receive_part(impl_->socket, into)) break;
      has_more = zmq_msg_more(&into) != 0;
    }
    if (parts < 1 || parts > 2) continue;
    message.peer = peer.text();
    message.head = head.text();
    if (const char* const key = zmq_msg_gets(&head.message, "User-Id"); key != nullptr) message.key = key;
    return message;
  }
}

bool Server::send(const std::string& peer, std::string_view head, Body body) {
  if (!send_text(impl_->socket, peer, ZMQ_SNDMORE)) return false;
  const bool has_body = body.impl_ != nullptr;
  if (!send_text(impl_->socket, head, has_body ? ZMQ_SNDMORE : 0)) return false;
  return !has_body || zmq_msg_send(&body.impl_->message, impl_->socket, ZMQ_DONTWAIT) >= 0;
}

struct Client::Impl {
  void* socket = nullptr;
  std::optional<Monitor> monitor;  // of handshakes that fail
  Refusal refusal = Refusal::none;
  bool has_keys = false;
  int hung_up = 0;

  ~Impl() {
    monitor.reset();
    if (socket != nullptr) zmq_close(socket);
  }
};

Client::Client(const std::string& address, const Security& security, const std::string& name, const Limits& limits,
               bool asks_refusal)
    : impl_(std::make_unique<Impl>()) {
  impl_->socket = make_socket(ZMQ_DEALER, limits);
  set(impl_->socket, ZMQ_ROUTING_ID, name);
  set(impl_->socket, ZMQ_RECONNECT_IVL, 100);
  set(impl_->socket, ZMQ_RECONNECT_IVL_MAX, 2000);
  impl_->has_keys = security.own.has_value();
  if (asks_refusal)
    impl_->monitor.emplace(impl_->socket, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                              ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
  if (security.own) {
    set(impl_->socket, ZMQ_CURVE_SERVERKEY, security.server);
    set(impl_->socket, ZMQ_CURVE_PUBLICKEY, security.own->public_key);
    set(impl_->socket, ZMQ_CURVE_SECRETKEY, security.own->secret_key);
  }
  if (zmq_connect(impl_->socket, address.c_str()) != 0)
    throw core::Error(fmt::format("{} is no address: {}", address, zmq_strerror(zmq_errno())), "",
                      "an address is tcp://HOST:PORT or ipc://PATH");
}
Client::~Client() = default;

Watched Client::watched() const {
  return {.socket = impl_->socket};
}

std::optional<Message> Client::receive() {
  Part head;
  if (!receive_part(impl_->socket, head.message)) return std::nullopt;
  Message message;
  message.head = head.text();
  for (bool has_more = zmq_msg_more(&head.message) != 0; has_more;) {
    message.body.impl_ = std::make_unique<Body::Impl>();
    zmq_msg_init(&message.body.impl_->message);
    if (!receive_part(impl_->socket, message.body.impl_->message)) break;
    has_more = zmq_msg_more(&message.body.impl_->message) != 0;
    if (has_more) message.body = {};
  }
  return message;
}

bool Client::send(std::string_view head, Body body) {
  const bool has_body = body.impl_ != nullptr;
  if (!send_text(impl_->socket, head, has_body ? ZMQ_SNDMORE : 0)) return false;
  return !has_body || zmq_msg_send(&body.impl_->message, impl_->socket, ZMQ_DONTWAIT) >= 0;
}

// One that has keys, or asks for them, hangs up in the middle of the first words where the other has none: it says so
// itself if the reader is quick enough to hear it. A tunnel whose far end is not up yet hangs up as well.
Client::Refusal Client::refusal() {
  const int again_and_again = impl_->has_keys ? 5 : 20;
  const auto hangs_up = [](const Monitor::Event& event) {
    return event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && (event.value == EPIPE || event.value == ECONNRESET);
  };
  while (const std::optional<Monitor::Event> event = impl_->monitor->next()) {
    if (event->kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
      impl_->refusal = Refusal::unknown_key;
    else if (hangs_up(*event) ? ++impl_->hung_up == again_and_again
                              : event->kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
                                    event->value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
      impl_->refusal = Refusal::other_security;
  }
  return impl_->refusal;
}

WakeUp::WakeUp() : file_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  core::require(file_ >= 0, "the system has a file for waking up");
}
WakeUp::~WakeUp() {
  ::close(file_);
}

void WakeUp::call() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(file_, &one, sizeof one);  // it is full where it was called before
}

void WakeUp::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(file_, &count, sizeof count);
}

void wait(std::span<const Socket* const> sockets, const WakeUp* wake_up, std::chrono::milliseconds longest) {
  std::vector<zmq_pollitem_t> items;
  for (const Socket* socket : sockets) {
    const Watched one = socket->watched();
    const int events = ZMQ_POLLIN | (one.is_for_room ? ZMQ_POLLOUT : 0);
    items.push_back({one.socket, one.file, static_cast<short>(events), 0});
  }
  if (wake_up != nullptr) items.push_back({nullptr, wake_up->raw(), ZMQ_POLLIN, 0});
  zmq_poll(items.data(), static_cast<int>(items.size()), longest.count());
  if (wake_up != nullptr) wake_up->clear();
}

// The first byte of a name is not zero: those are ZeroMQ's own.
std::string random_name() {
  std::string name(16, '\0');
  core::require(::getrandom(name.data(), name.size(), 0) == static_cast<ssize_t>(name.size()),
                "the system has random numbers");
  name.front() = static_cast<char>(name.front() | 1);
  return name;
}

std::string random_word() {
  std::string word;
  for (const char byte : random_name()) word += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return word;
}

}  // namespace sidestream::stream
