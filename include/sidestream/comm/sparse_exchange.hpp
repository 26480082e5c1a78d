#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"

// Messages between ranks that do not know who has something for them. A round costs what is sent in it: a message and
// its receipt for each pair of ranks that have something to say, and a consensus that the round is over, whose messages
// grow with the logarithm of the number of ranks (Hoefler, Siebert & Lumsdaine 2010, PPoPP, "Scalable communication
// protocols for dynamic sparse data exchange"). `Communicator::exchange` works the same way.
namespace sidestream::comm {

/// Values for, or from, those ranks that there are any for, in the order of the ranks.
template <typename T>
using ByRank = std::map<int, std::vector<T>>;

/// What a round brings.
template <typename T>
struct Delivery {
  ByRank<T> incoming;         ///< from each rank that sent anything here
  std::int64_t messages = 0;  ///< of all ranks, in this round: 0 where nobody had anything to say
};

/// What a rank has sent in rounds of `deliver` and `exchange`, but for what it kept for itself.
struct ExchangeTraffic {
  std::int64_t rounds = 0;
  std::int64_t messages = 0, bytes = 0;  ///< of values
  std::int64_t receipts = 0;             ///< messages without bytes that tell a sender of its message's arrival
  std::int64_t consensus_messages = 0;   ///< of 8 bytes: those by which ranks learn that a round is over
};

/// The messages of 8 bytes that a rank sends to learn that a round of `ranks` ranks is over: the logarithm to the
/// base of 2. (Where the number of ranks is no power of 2, some ranks send up to two more.)
std::int64_t consensus_messages(int ranks);

/// What this rank has sent on `comm` so far. Local.
ExchangeTraffic traffic_of(const Communicator& comm);

struct Packet {
  int rank;
  std::span<const std::byte> bytes;
};
struct Parcel {
  int rank;
  std::vector<std::byte> bytes;
};

/// The round for bytes: parcels in the order of the ranks they came from, one each. Empty packets are not sent. Adds
/// up in `messages` how many all ranks had. Collective.
std::vector<Parcel> deliver_bytes(const Communicator& comm, std::span<const Packet> outgoing, std::int64_t& messages);

/// Sends values to the ranks that there are any for (this one too), and returns what was sent here: the same in
/// whatever order it comes. Collective.
template <typename T>
Delivery<T> deliver(const Communicator& comm, const ByRank<T>& outgoing) {
  std::vector<Packet> packets;
  for (const auto& [rank, values] : outgoing) packets.push_back({rank, std::as_bytes(std::span(values))});
  Delivery<T> delivery;
  for (Parcel& parcel : deliver_bytes(comm, packets, delivery.messages)) {
    std::vector<T>& values = delivery.incoming[parcel.rank];
    values.resize(parcel.bytes.size() / sizeof(T));
    std::ranges::copy(parcel.bytes, std::as_writable_bytes(std::span(values)).begin());
    parcel.bytes = {};
  }
  return delivery;
}

}  // namespace sidestream::comm
