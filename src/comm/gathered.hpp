#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

// MPI counts bytes in an `int`. Tables of more come as messages, in pieces.
constexpr std::int64_t most_bytes_at_once = std::numeric_limits<int>::max();

/// The bytes of all ranks, in their order, on `root`, empty elsewhere. Collective.
std::vector<std::byte> gathered(const Communicator& comm, std::span<const std::byte> bytes, int root,
                                std::int64_t at_once = most_bytes_at_once);
/// The same on all ranks. Collective.
std::vector<std::byte> gathered_by_all(const Communicator& comm, std::span<const std::byte> bytes,
                                       std::int64_t at_once = most_bytes_at_once);
/// Fills `bytes` on all ranks with those of `root`. Collective.
void broadcast(const Communicator& comm, std::span<std::byte> bytes, int root);

}  // namespace sidestream::comm
