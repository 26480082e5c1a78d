#include "tcp.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::apps {

namespace {

sockaddr_in place(const std::string& host, int port) {
  sockaddr_in found{};
  found.sin_family = AF_INET;
  found.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &found.sin_addr) != 1)
    throw core::Error(fmt::format("{} is no address of IPv4 in numbers", host));
  return found;
}

int new_socket() {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) throw core::Error(fmt::format("there is no socket to be had: {}", std::strerror(errno)));
  return file;
}

void send_at_once(int file) {
  const int yes = 1;
  ::setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

Connection::Connection(const std::string& address) : file_(new_socket()) {
  const std::size_t colon = address.rfind(':');
  const sockaddr_in to = place(address.substr(0, colon), std::stoi(address.substr(colon + 1)));
  if (::connect(file_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    ::close(file_);
    throw core::Error(fmt::format("{} cannot be reached: {}", address, std::strerror(errno)));
  }
  send_at_once(file_);
}

Connection::~Connection() {
  if (file_ >= 0) ::close(file_);
}

Connection::Connection(Connection&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

void Connection::send(std::span<const std::byte> head, std::span<const std::byte> body) const {
  const std::size_t total = head.size() + body.size();
  for (std::size_t sent = 0; sent < total;) {
    const std::size_t of_head = std::min(sent, head.size()), of_body = sent - of_head;
    std::array<iovec, 2> parts{iovec{const_cast<std::byte*>(head.data() + of_head), head.size() - of_head},
                               iovec{const_cast<std::byte*>(body.data() + of_body), body.size() - of_body}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t count = ::sendmsg(file_, &message, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) throw core::Error("the other end of a socket has gone");
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

bool Connection::receive(std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::recv(file_, bytes.data(), bytes.size(), 0);
    if (count == 0 || (count < 0 && errno != EINTR)) return false;
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

void Connection::end() const {
  ::shutdown(file_, SHUT_RDWR);
}

Listener::Listener(const std::string& host) : file_(new_socket()) {
  sockaddr_in at = place(host, 0);
  socklen_t size = sizeof at;
  if (::bind(file_, reinterpret_cast<const sockaddr*>(&at), size) != 0 || ::listen(file_, SOMAXCONN) != 0 ||
      ::getsockname(file_, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    ::close(file_);
    throw core::Error(fmt::format("there is no port to be had at {}: {}", host, std::strerror(errno)));
  }
  address_ = fmt::format("{}:{}", host, ntohs(at.sin_port));
}

Listener::~Listener() {
  ::close(file_);
}

std::optional<Connection> Listener::accept() const {
  const int file = ::accept4(file_, nullptr, nullptr, SOCK_CLOEXEC);
  if (file < 0) return std::nullopt;
  send_at_once(file);
  return Connection(file);
}

void Listener::end() const {
  ::shutdown(file_, SHUT_RDWR);
}

}  // namespace sidestream::apps
