#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "couple/publish/cargo.hpp"
#include "couple/stream/part_cursor.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// A rank of the run has given nothing for too long.
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
  /// `addresses`: of the ranks of the run. `timeout_s`: the longest silence of one of them.
  Fetcher(std::vector<std::string> addresses, stream::Security security, double timeout_s);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  /// Brings all that is wanted of publish `number`; returns the words of particles from each. Throws core::Error naming
  /// the rank that does not give it. Bytes and messages are added to `counts`. Local.
  std::vector<std::vector<Word>> fetch(std::int64_t number, std::vector<Wanted> wanted, ReaderCounts& counts);

  std::int64_t connections() const { return static_cast<std::int64_t>(clients_.size()); }

 private:
  struct Transfer;

  stream::Client& client_to(int rank);
  void ask(Transfer& transfer, std::int64_t number);
  bool take(Transfer& transfer, const stream::Message& message, ReaderCounts& counts);

  std::vector<std::string> addresses_;
  stream::Security security_;
  double timeout_s_;
  std::map<int, std::unique_ptr<stream::Client>> clients_;  // by rank
  std::uint64_t transfers_ = 0;
};

}  // namespace sidestream::couple
