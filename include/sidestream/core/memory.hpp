#pragma once

#include <cstddef>
#include <memory>

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

}  // namespace sidestream::core
