#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "couple/stream/compressed_parts.hpp"
#include "couple/stream/part_cursor.hpp"
#include "couple/stream/run/copy_room.hpp"
#include "couple/stream/run/outgoing_bytes.hpp"
#include "couple/stream/run/shelf.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/stream/plain_socket.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// Gives readers the cells that they ask for, out of what this rank has published. Where nothing is encrypted, a plain
/// socket carries what is not compressed; else messages do, a few pieces ahead of what the reader has taken. One thread
/// puts and removes, another serves.
class BlockServer {
 public:
  /// `longest_early_s`: that a request waits for its publish or its plain socket, and a plain socket for a request.
  /// `refused` is told of keys that are not let in.
  BlockServer(const std::string& address, const stream::Security& security, double longest_early_s = 30.0,
              stream::Server::Refused refused = {});

  const std::string& address() const { return server_.address(); }
  /// Where plain sockets come to; "": none do.
  std::string plain_address() const { return listener_ ? listener_->address() : ""; }
  /// Adds what the thread that serves waits for.
  void add_sockets(std::vector<const stream::Socket*>& sockets) const;

  void put(std::int64_t number, std::shared_ptr<Shelf> shelf);
  /// Nobody asks for it any more. Its memory, once nothing of it is under way, comes back by `empty_buffers`.
  void remove(std::int64_t number);
  std::vector<Buffer> empty_buffers();
  /// Bytes that have left since the start.
  std::int64_t bytes_sent() const { return bytes_sent_; }

  /// Answers what has come and sends what may go. Never waits, but for a disk.
  void serve();

 private:
  struct Transfer {
    std::string peer;
    std::int64_t publish = 0;
    std::uint64_t number = 0;
    std::variant<Outgoing, OutgoingCompressed, std::unique_ptr<OutgoingBytes>> cells;
    int credit = 0;  // messages
    std::shared_ptr<CopyRoom::Bytes> copies{};
    std::string plain_socket{};  // its name
    core::Stopwatch age{};
  };
  struct PlainWay {
    stream::PlainSocket socket;
    core::Stopwatch age{};
    bool is_used = false;  // a request has named it
  };
  // For a publish that this rank has not got yet.
  struct Early {
    std::int64_t publish = 0;
    stream::Message message;
    core::Stopwatch age{};
  };

  void take(stream::Message message);
  std::int64_t newest() const;
  bool begin(const std::string& peer, const nlohmann::json& request);
  void accept();
  void look_for_hang_ups();
  void refuse(const std::string& peer, std::uint64_t transfer, const std::string& reason);
  bool send_some(Transfer& transfer);
  bool send_next(Transfer& transfer, Outgoing& cells);
  bool send_next(Transfer& transfer, OutgoingCompressed& cells);
  bool send_some(const Transfer& transfer, OutgoingBytes& bytes);
  std::shared_ptr<Shelf> shelf_of(std::int64_t publish) const;

  stream::Server server_;
  std::optional<stream::PlainListener> listener_;
  std::map<std::string, PlainWay> plain_ways_;  // by the names that readers have given them
  std::map<std::string, Transfer> transfers_;   // of each peer the last
  std::vector<Early> early_;                    // of each peer one
  CopyRoom copy_room_;
  double longest_early_s_;
  std::atomic<std::int64_t> bytes_sent_ = 0;

  mutable std::mutex mutex_;  // of what follows
  std::map<std::int64_t, std::shared_ptr<Shelf>> shelves_;
  std::vector<std::shared_ptr<Shelf>> removed_;
  std::int64_t newest_ = 0;
};

}  // namespace sidestream::couple
