#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sidestream::test {

/// Memory, as the bytes from its first to its last.
using Memory = std::span<const std::byte>;

/// What this process has moved and taken since `watch`, whatever the communicator and the thread: the test program
/// stands before MPI's functions (its profiling interface) and before those that give memory.
struct Traffic {
  std::vector<Memory> sent, asked_for;  ///< messages with the tag of some publish's data, where they lie
  std::int64_t bytes_taken = 0;         ///< of memory given in pieces of `least_bytes` and more
};

/// Forgets what was seen, and sees pieces of memory of so many bytes and more from now on.
void watch_traffic(std::size_t least_bytes);
Traffic seen_traffic();

/// As if so many ranks of a communicator, in their order, shared a node; 0: as it is.
void pretend_nodes(int ranks_of_node);
/// As if the system had no memory that can be lent.
void refuse_shared_memory(bool does_refuse);

}  // namespace sidestream::test
