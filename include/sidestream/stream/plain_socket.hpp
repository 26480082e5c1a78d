#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sidestream/core/timer.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::stream {

/// A connection for bytes alone, beside sockets for messages: in order, whole, neither framed nor encrypted. It never
/// waits, and is of one thread. Move-only.
class PlainSocket : public Socket {
 public:
  /// Connects to the address of a `PlainListener` within `longest`, and says `name`, a random word. Throws core::Error
  /// where it cannot.
  PlainSocket(const std::string& address, std::string_view name, std::chrono::milliseconds longest);
  ~PlainSocket() override;
  PlainSocket(PlainSocket&& other) noexcept;
  PlainSocket& operator=(PlainSocket&& other) noexcept;

  /// How many of the bytes the system takes now. Throws core::Error where the other end has gone.
  std::size_t send(std::span<const std::byte> bytes);
  /// Fills the places in turn with what has come; returns how many bytes that were. Throws core::Error where the other
  /// end has gone.
  std::size_t receive(std::span<const std::span<std::byte>> places);

  /// Whether `wait` returns when it takes bytes, too.
  void watch_for_room(bool is_watched) { is_watched_for_room_ = is_watched; }
  Watched watched() const override { return {.file = file_, .is_for_room = is_watched_for_room_}; }

 private:
  friend class PlainListener;
  explicit PlainSocket(int file) : file_(file) {}

  int file_ = -1;
  bool is_watched_for_room_ = false;
};

/// Where plain sockets come to.
class PlainListener : public Socket {
 public:
  /// Listens beside the server that is bound to `address`: on another port of the same interface, or in a file of the
  /// same folder. Throws core::Error where that cannot be had.
  explicit PlainListener(const std::string& address);
  ~PlainListener() override;
  PlainListener(const PlainListener&) = delete;
  PlainListener& operator=(const PlainListener&) = delete;

  const std::string& address() const { return address_; }
  /// Those that have said their names since it was called last, where there are `others` already; of strangers who say
  /// none for some seconds, or come in crowds, nothing is kept.
  std::vector<std::pair<std::string, PlainSocket>> accept(std::size_t others);
  Watched watched() const override { return {.file = file_}; }

 private:
  struct Nameless {
    PlainSocket socket;
    std::string name;
    core::Stopwatch age{};
  };

  int file_ = -1;
  std::string address_, path_;
  std::vector<Nameless> nameless_;
};

}  // namespace sidestream::stream
