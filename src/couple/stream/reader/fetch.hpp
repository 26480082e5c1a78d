#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "couple/publish/cargo.hpp"
#include "couple/stream/meeting_point.hpp"
#include "couple/stream/part_cursor.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/stream/plain_socket.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// A rank of the run has given nothing for too long, or the run has begun anew elsewhere.
class FetchTimeout : public core::Error {
 public:
  using core::Error::Error;
};

/// What a rank of a reader asks of a rank of the run, and where it is to lie.
struct Wanted {
  int from = 0;  ///< rank of the run
  TransferOrder order;
  std::vector<Incoming::Target> targets;
  std::int64_t most_particle_words = 0;  ///< that there can be
};

/// Brings cells from ranks of a run to this rank of a reader, from all of them at once.
class Fetcher {
 public:
  /// `addresses`: of the ranks of the run, and `plain_addresses`, where they have any, for plain sockets. `timeout_s`:
  /// the longest silence of one of them. `relocation`: of the run, after which nobody waits for its cells.
  Fetcher(std::vector<std::string> addresses, std::vector<std::string> plain_addresses, stream::Security security,
          double timeout_s, Relocation relocation);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  /// Brings all that is wanted of publish `number`; returns the words of particles from each. Throws core::Error naming
  /// the rank that does not give it. Bytes and messages are added to `counts`. Local.
  std::vector<std::vector<Word>> fetch(std::int64_t number, std::vector<Wanted> wanted, ReaderCounts& counts);

  /// Ranks that were talked to.
  std::int64_t connections() const { return static_cast<std::int64_t>(peers_.size()); }

 private:
  struct Transfer;
  // A rank of the run.
  struct Peer {
    std::unique_ptr<stream::Client> client;
    std::optional<stream::PlainSocket> plain_socket{};
    std::string socket_name{};
    bool is_amid = false;  // bytes of a transfer may be under way in the plain socket
    int broken = 0;        // plain sockets
  };

  Peer& peer_of(int rank);
  bool has_plain_socket(int rank, Peer& peer);
  void ask(Transfer& transfer, std::int64_t number, bool may_be_plain = true);
  void ask_again(Transfer& transfer, std::int64_t number);
  void take_all(Transfer& transfer, std::int64_t number, ReaderCounts& counts);
  void take(Transfer& transfer, const stream::Message& message, ReaderCounts& counts);
  bool take_bytes(Transfer& transfer, std::int64_t number, ReaderCounts& counts);
  [[noreturn]] void refuse(const Transfer& transfer, const std::string& what) const;
  std::string address_of(const Transfer& transfer) const;

  std::vector<std::string> addresses_, plain_addresses_;
  stream::Security security_;
  double timeout_s_;
  Relocation relocation_;
  std::map<int, Peer> peers_;  // by rank
  bool has_way_for_plain_ = true;
  std::uint64_t transfers_ = 0;
};

}  // namespace sidestream::couple
