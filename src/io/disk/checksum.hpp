#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sidestream::io {

/// 64-bit XXH3, made with the vector instructions of this build (the library's own copy knows the oldest ones only).
std::uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace sidestream::io
