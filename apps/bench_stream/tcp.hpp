#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace sidestream::apps {

/// A bare socket of TCP, closed at its end.
class Connection {
 public:
  explicit Connection(int file) : file_(file) {}
  /// To `HOST:PORT`, an address of IPv4 in numbers. Throws core::Error.
  explicit Connection(const std::string& address);
  ~Connection();
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;

  /// All of them in one message as far as the system lets it. Throws core::Error where the other has gone.
  void send(std::span<const std::byte> head, std::span<const std::byte> body) const;
  /// Returns whether so many came: not where the other has gone.
  bool receive(std::span<std::byte> bytes) const;
  /// Whoever waits for it is woken, and finds that the other has gone.
  void end() const;

 private:
  int file_;
};

/// Where others connect to.
class Listener {
 public:
  /// Any port of `host`, an address of IPv4 in numbers. Throws core::Error.
  explicit Listener(const std::string& host);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// `HOST:PORT`
  const std::string& address() const { return address_; }
  /// Waits for the next one; nothing after `end`.
  std::optional<Connection> accept() const;
  void end() const;

 private:
  int file_;
  std::string address_;
};

}  // namespace sidestream::apps
