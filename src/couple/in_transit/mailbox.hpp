#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::couple {

/// What travels between the groups.
enum class Tag : int {
  command = 1,  ///< to the sidecars, in order: levels, a publish, the end
  stop,         ///< to the sidecars: leave out what waits
  reply,        ///< from the sidecars: received, ended
};

/// The tags of a publish: of its data, and of a sidecar's word to a rank that computes that it receives these now. Each
/// publish has its own, since one before it may be withdrawn or read back from a disk.
constexpr int data_tag(std::int64_t number) {
  return 1 << 14 | static_cast<int>(number % (1 << 13));
}
constexpr int wanted_tag(std::int64_t number) {
  return 1 << 13 | static_cast<int>(number % (1 << 13));
}

/// Small messages between the first ranks of the two groups.
class Mailbox {
 public:
  /// `peer` is a rank of `world`, which must outlive the mailbox.
  Mailbox(const comm::Communicator& world, int peer) : world_(&world), peer_(peer) {}

  /// Sends without waiting.
  void post(Tag tag, const nlohmann::json& message);
  /// The next message of this kind, if one is there; never waits for one to be sent.
  std::optional<nlohmann::json> take(Tag tag);
  /// Whether a message of this kind is there.
  bool has(Tag tag) const;
  /// Forgets what has been sent. Returns whether all has.
  bool progress();
  /// Whether nothing was under way when it was looked at last.
  bool is_empty() const { return sent_.empty(); }

 private:
  struct Sent {
    std::vector<std::uint8_t> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  const comm::Communicator* world_;
  int peer_;
  std::list<Sent> sent_;
};

}  // namespace sidestream::couple
