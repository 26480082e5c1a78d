#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "couple/stream/compressed_parts.hpp"
#include "couple/stream/part_cursor.hpp"
#include "couple/stream/run/shelf.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// What stands before the bytes of a transfer.
struct ChunkHead {
  std::uint64_t transfer = 0;  ///< as the reader numbered it
  std::int64_t offset = 0;     ///< of these bytes
  std::int64_t total = 0;  ///< bytes of the whole transfer; -1: there is none, and the body says why; -2: compressed
};

/// Gives readers the cells that they ask for, out of what this rank has published: each its own, a few pieces ahead of
/// what it has taken. One thread puts and removes, another serves.
class BlockServer {
 public:
  BlockServer(const std::string& address, const stream::Security& security);

  const std::string& address() const { return server_.address(); }
  const stream::Socket& socket() const { return server_; }

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
    std::variant<Outgoing, OutgoingCompressed> cells;
    int credit = 0;
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
  void refuse(const std::string& peer, std::uint64_t transfer, const std::string& reason);
  bool send_some(Transfer& transfer);
  bool send_next(Transfer& transfer, Outgoing& cells);
  bool send_next(Transfer& transfer, OutgoingCompressed& cells);
  std::shared_ptr<Shelf> shelf_of(std::int64_t publish) const;

  stream::Server server_;
  std::map<std::string, Transfer> transfers_;  // of each peer the last
  std::vector<Early> early_;                   // of each peer one
  std::atomic<std::int64_t> bytes_sent_ = 0;

  mutable std::mutex mutex_;  // of what follows
  std::map<std::int64_t, std::shared_ptr<Shelf>> shelves_;
  std::vector<std::shared_ptr<Shelf>> removed_;
  std::int64_t newest_ = 0;
};

}  // namespace sidestream::couple
