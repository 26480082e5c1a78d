#include "stream/monitor.hpp"

#include <zmq.h>

#include <array>
#include <cstring>
#include <string>

#include "sidestream/core/error.hpp"
#include "sidestream/stream/socket.hpp"
#include "stream/context.hpp"

namespace sidestream::stream {

// Without a limit: threads of ZeroMQ would wait for who does not ask.
Monitor::Monitor(void* socket, int events) : watched_(socket) {
  const std::string address = "inproc://monitor-" + random_word();
  core::require(zmq_socket_monitor(watched_, address.c_str(), events) == 0, "ZeroMQ tells of connections");
  socket_ = zmq_socket(context(), ZMQ_PAIR);
  if (socket_ == nullptr) throw core::Error(std::string("there is no socket to be had: ") + zmq_strerror(zmq_errno()));
  const int none = 0;
  zmq_setsockopt(socket_, ZMQ_RCVHWM, &none, sizeof none);
  core::require(zmq_connect(socket_, address.c_str()) == 0, "ZeroMQ tells of connections");
}

Monitor::~Monitor() {
  zmq_socket_monitor(watched_, nullptr, 0);
  if (socket_ != nullptr) zmq_close(socket_);
}

// The first part of a message is the event, the second an address.
std::optional<Monitor::Event> Monitor::next() {
  std::array<char, sizeof(Event::kind) + sizeof(Event::value)> bytes{};
  if (zmq_recv(socket_, bytes.data(), bytes.size(), ZMQ_DONTWAIT) != static_cast<int>(bytes.size()))
    return std::nullopt;
  Event event;
  std::memcpy(&event.kind, bytes.data(), sizeof event.kind);
  std::memcpy(&event.value, bytes.data() + sizeof event.kind, sizeof event.value);
  zmq_recv(socket_, nullptr, 0, ZMQ_DONTWAIT);
  return event;
}

}  // namespace sidestream::stream
