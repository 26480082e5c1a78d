#include "stream/doorman.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sidestream/core/error.hpp"
#include "stream/context.hpp"

namespace sidestream::stream {

Doorman& Doorman::instance() {
  static Doorman* const only = new Doorman;  // its thread goes on until the process ends
  return *only;
}

std::string Doorman::guard(const std::vector<std::string>& allowed, Refused refused) {
  const std::lock_guard lock(mutex_);
  if (number_ == 0) {
    void* const socket = zmq_socket(context(), ZMQ_REP);
    core::require(socket != nullptr && zmq_bind(socket, "inproc://zeromq.zap.01") == 0, "ZeroMQ asks who may come in");
    std::thread([this, socket] { work(socket); }).detach();
  }
  std::string domain = fmt::format("door {}", ++number_);
  doors_[domain] = {allowed, std::move(refused)};
  return domain;
}

void Doorman::leave(const std::string& domain) {
  const std::lock_guard lock(mutex_);
  doors_.erase(domain);
}

void Doorman::work(void* socket) {
  while (true) {
    zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, -1) > 0) answer(socket);
  }
}

// The parts of a request: version, its number, domain, address of the peer, its name, mechanism, and its key.
void Doorman::answer(void* socket) {
  std::vector<std::string> parts;
  int has_more = 1;
  for (std::size_t size = sizeof has_more; has_more != 0;) {
    zmq_msg_t part;
    zmq_msg_init(&part);
    if (zmq_msg_recv(&part, socket, 0) < 0) return;
    parts.emplace_back(static_cast<const char*>(zmq_msg_data(&part)), zmq_msg_size(&part));
    zmq_msg_close(&part);
    zmq_getsockopt(socket, ZMQ_RCVMORE, &has_more, &size);
  }
  std::array<char, 41> key{};
  const bool is_whole = parts.size() == 7 && parts[5] == "CURVE" && parts[6].size() == 32 &&
                        zmq_z85_encode(key.data(), reinterpret_cast<const std::uint8_t*>(parts[6].data()), 32);
  const bool may = is_whole && may_enter(parts[2], parts[3], key.data());
  const std::array<std::string, 6> reply{
      "1.0", parts.size() > 1 ? parts[1] : "", may ? "200" : "400", may ? "OK" : "unknown key", may ? key.data() : "",
      ""};
  for (std::size_t p = 0; p < reply.size(); ++p)
    zmq_send(socket, reply[p].data(), reply[p].size(), p + 1 < reply.size() ? ZMQ_SNDMORE : 0);
}

bool Doorman::may_enter(const std::string& domain, const std::string& peer, const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto door = doors_.find(domain);
  if (door == doors_.end()) return false;
  if (std::ranges::find(door->second.allowed, key) != door->second.allowed.end()) return true;
  if (door->second.refused) door->second.refused(peer, key);
  return false;
}

}  // namespace sidestream::stream
