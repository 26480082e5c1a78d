#include "sidestream/stream/plain_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::stream {

namespace {

constexpr std::size_t name_bytes = 32, most_nameless = 64, most_places = 256;
constexpr double longest_nameless_s = 5.0;
constexpr std::string_view of_files = "ipc://", of_networks = "tcp://";

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

core::Error failure(const std::string& what, const std::string& where, int code) {
  return core::Error(fmt::format("{}: {}", what, std::generic_category().message(code)), where);
}

Address address_of_file(const std::string& path, const std::string& text) {
  Address address;
  auto& local = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.size() >= sizeof local.sun_path)
    throw core::Error("the path of a socket is too long", text, "run in a folder with a shorter path");
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, path.c_str(), path.size() + 1);
  address.size = sizeof local;
  return address;
}

Address parsed(const std::string& text) {
  if (text.starts_with(of_files)) return address_of_file(text.substr(of_files.size()), text);
  const std::size_t colon = text.rfind(':');
  if (!text.starts_with(of_networks) || colon < of_networks.size())
    throw core::Error("this is no address of a socket", text, "give tcp://HOST:PORT or ipc://PATH");
  std::string host = text.substr(of_networks.size(), colon - of_networks.size());
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), text.substr(colon + 1).c_str(), &hints, &found); code != 0)
    throw core::Error(fmt::format("the host cannot be found: {}", ::gai_strerror(code)), text,
                      "give a name that this machine knows, or its address in numbers: tcp://192.0.2.7:5555");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Address address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  return address;
}

int new_socket(int family) {
  const int file = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0) throw failure("there is no socket to be had", "", errno);
  return file;
}

void send_at_once(int file) {
  const int one = 1;
  ::setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);  // sockets of files have no such option
}

bool waits_only(int code) {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

// A part of the files that a process may have open: a simulation needs some, too.
std::size_t most_sockets() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<std::size_t>(files.rlim_cur) / 4 : 64;
}

// Of the last call that connects; waits for its end.
int code_of_connection(int file, std::chrono::milliseconds longest) {
  pollfd item{file, POLLOUT, 0};
  if (::poll(&item, 1, static_cast<int>(longest.count())) <= 0) return ETIMEDOUT;
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(file, SOL_SOCKET, SO_ERROR, &code, &size);
  return code;
}

// On the interface of `address`, at any port.
Address beside(const std::string& address) {
  if (address.starts_with(of_files)) return parsed(address + "+");
  return parsed(address.substr(0, address.rfind(':')) + ":0");
}

std::string bound_address(int file, const std::string& beside) {
  if (beside.starts_with(of_files)) return beside + "+";
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(file, reinterpret_cast<sockaddr*>(&bound), &size);
  const in_port_t port = bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                                     : reinterpret_cast<const sockaddr_in&>(bound).sin_port;
  return fmt::format("{}:{}", beside.substr(0, beside.rfind(':')), ntohs(port));
}

}  // namespace

PlainSocket::PlainSocket(const std::string& address, std::string_view name, std::chrono::milliseconds longest) {
  core::require(name.size() == name_bytes, "names of sockets have 32 characters");
  const Address to = parsed(address);
  PlainSocket made(new_socket(to.family()));
  send_at_once(made.file_);
  int code = ::connect(made.file_, to.get(), to.size) == 0 ? 0 : errno;
  if (code == EINPROGRESS) code = code_of_connection(made.file_, longest);
  if (code != 0) throw failure("there is no connection", address, code);
  if (made.send(std::as_bytes(std::span(name))) != name_bytes)
    throw core::Error("the connection takes nothing", address);
  *this = std::move(made);
}

PlainSocket::~PlainSocket() {
  if (file_ >= 0) ::close(file_);
}

PlainSocket::PlainSocket(PlainSocket&& other) noexcept
    : file_(std::exchange(other.file_, -1)), is_watched_for_room_(other.is_watched_for_room_) {}

PlainSocket& PlainSocket::operator=(PlainSocket&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(is_watched_for_room_, other.is_watched_for_room_);
  return *this;
}

std::size_t PlainSocket::send(std::span<const std::byte> bytes) {
  const ssize_t taken = ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (taken >= 0) return static_cast<std::size_t>(taken);
  if (waits_only(errno)) return 0;
  throw failure("the other end of a connection has gone", "", errno);
}

std::size_t PlainSocket::receive(std::span<const std::span<std::byte>> places) {
  std::array<iovec, most_places> pieces;
  const std::size_t count = std::min(places.size(), most_places);
  for (std::size_t i = 0; i < count; ++i) pieces[i] = {places[i].data(), places[i].size()};
  const ssize_t got = ::readv(file_, pieces.data(), static_cast<int>(count));
  if (got > 0) return static_cast<std::size_t>(got);
  if (got < 0 && waits_only(errno)) return 0;
  throw failure("the other end of a connection has gone", "", got == 0 ? ECONNRESET : errno);
}

PlainListener::PlainListener(const std::string& address) {
  const Address to = beside(address);
  file_ = new_socket(to.family());
  if (to.family() == AF_UNIX) path_ = (address + "+").substr(of_files.size());
  if (::bind(file_, to.get(), to.size) != 0 || ::listen(file_, SOMAXCONN) != 0) {
    const int code = errno;
    ::close(file_);
    throw failure("nobody can listen there", address, code);
  }
  address_ = bound_address(file_, address);
}

PlainListener::~PlainListener() {
  ::close(file_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::vector<std::pair<std::string, PlainSocket>> PlainListener::accept(std::size_t others) {
  std::vector<std::pair<std::string, PlainSocket>> named;
  int file = 0;
  while ((file = ::accept4(file_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    PlainSocket socket(file);
    send_at_once(file);
    if (nameless_.size() < most_nameless && others < most_sockets())
      nameless_.push_back({std::move(socket), std::string(name_bytes, '\0')});
  }
  std::erase_if(nameless_, [&](Nameless& one) {
    const std::array place{std::as_writable_bytes(std::span(one.name))};
    try {
      const std::size_t got = one.socket.receive(place);
      if (got == 0) return one.age.seconds() > longest_nameless_s;
      if (got == name_bytes) named.emplace_back(one.name, std::move(one.socket));  // else it speaks something else
    } catch (const core::Error&) {                                                 // it has gone
    }
    return true;
  });
  return named;
}

}  // namespace sidestream::stream
