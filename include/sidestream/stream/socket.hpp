#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sidestream/stream/keys.hpp"

namespace sidestream::stream {

/// The data of a message. Move-only.
class Body {
 public:
  Body();
  /// Not copied: `owner` lives until they have gone.
  Body(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  ~Body();
  Body(Body&&) noexcept;
  Body& operator=(Body&&) noexcept;

  std::span<const std::byte> bytes() const;

 private:
  friend class Server;
  friend class Client;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A message: words in the head, and data or none. Both arrive, or neither does.
struct Message {
  std::string peer;  ///< who sent it to a server, a name of 16 bytes that the other has chosen
  std::string key;   ///< the public key by which a server with keys has let the other in
  std::string head;
  Body body;
};

/// What a socket takes from others, who may be anybody.
struct Limits {
  std::size_t message_bytes = std::size_t{1} << 20;
  int waiting = 64;  ///< messages of each peer that wait to be taken
  int to_go = 1000;  ///< messages to each peer that it has not taken; more are left out
};

/// What `wait` looks at: a socket of ZeroMQ or a file.
struct Watched {
  void* socket = nullptr;
  int file = -1;
  bool is_for_room = false;  ///< whether it takes bytes, too
};

/// One end of a connection or of many, of one thread.
class Socket {
 public:
  virtual ~Socket() = default;
  virtual Watched watched() const = 0;
};

/// Where clients come to.
class Server : public Socket {
 public:
  using Refused = std::function<void(const std::string& peer, const std::string& key)>;

  /// Binds to `address`: `tcp://HOST:PORT`, where `*` stands for all interfaces or any port, or `ipc://PATH`. With
  /// `security.own` only clients with keys in `allowed` are let in; `refused` is told of others, by a thread of its
  /// own. Throws core::Error where the address cannot be had.
  Server(const std::string& address, const Security& security, const Limits& limits, Refused refused = {});
  ~Server() override;

  /// As it was bound, with the number of the port.
  const std::string& address() const { return address_; }
  /// Nothing if none waits.
  std::optional<Message> receive();
  /// Whether it is under way: not where the peer has gone or takes nothing any more.
  bool send(const std::string& peer, std::string_view head, Body body = {});
  Watched watched() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string address_;
};

/// One that talks to a server, and goes on trying to reach it while it lives.
class Client : public Socket {
 public:
  /// `name`: 16 bytes that nobody can guess, by which the server knows it after a new connection too. `asks_refusal`:
  /// whether `refusal` will be asked. Throws core::Error for what is no address.
  Client(const std::string& address, const Security& security, const std::string& name, const Limits& limits,
         bool asks_refusal = false);
  ~Client() override;

  std::optional<Message> receive();
  /// Whether it is under way.
  bool send(std::string_view head, Body body = {});
  enum class Refusal { none, unknown_key, other_security };
  /// Whether the server has answered that it does not know the key, or that it
  /// has keys where this side has none; or whether it hangs up again and again, as one does that has no keys or another
  /// one than this side expects.
  Refusal refusal();
  Watched watched() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What one thread does to have another look up from `wait`.
class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  void call() const;
  void clear() const;
  int raw() const { return file_; }

 private:
  int file_;
};

/// Returns when one of the sockets may have a message or bytes, or room, `wake_up` was called, or the time is over.
void wait(std::span<const Socket* const> sockets, const WakeUp* wake_up, std::chrono::milliseconds longest);

/// 16 bytes that nobody can guess.
std::string random_name();
/// The same as 32 hexadecimal digits.
std::string random_word();

}  // namespace sidestream::stream
