#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace sidestream::core {

/// Frees what `allocate_bytes` gave.
struct FreeBytes {
  void operator()(std::byte* data) const;
};
using Bytes = std::unique_ptr<std::byte[], FreeBytes>;

/// `size_bytes` of uninitialised memory for large arrays, aligned for vector registers, and, from some megabytes on, on
/// huge pages where the system grants them: strided loops over many rows then seldom wait for address translation.
/// Throws std::bad_alloc.
Bytes allocate_bytes(std::size_t size_bytes);

/// Makes zero what `allocate_bytes` has given and nobody has written to since: large memory, which comes from the
/// system as zeros, is not touched.
void clear(const Bytes& bytes, std::size_t size_bytes);

/// Gives `bytes` the size `size_bytes`, no smaller than before, and keeps the first `used_bytes`. Large memory is given
/// back page by page while it is copied, so that it is never there twice. Throws std::bad_alloc.
void grow(Bytes& bytes, std::size_t used_bytes, std::size_t size_bytes);

/// Makes the allocator give all memory from a megabyte on back to the system when it is freed. Left to itself it learns
/// from large pieces that were freed to carve the next ones out of its heap, where what is freed between others that
/// stay is kept. For the whole process.
void return_large_memory();

/// Memory that several objects work in, never two at a time: each finds there what the last one left. It holds as much
/// as the largest of them asks for.
class Workroom {
 public:
  /// The first `size_bytes`, aligned like `allocate_bytes`. What was given before may be gone.
  std::span<std::byte> bytes(std::size_t size_bytes);

 private:
  Bytes bytes_;
  std::size_t size_bytes_ = 0;
};

}  // namespace sidestream::core
