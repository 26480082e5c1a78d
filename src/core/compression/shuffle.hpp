#pragma once

#include <cstddef>
#include <span>

namespace sidestream::core {

/// The first bytes of all reals, then their second bytes, and so on, as HDF5's filter `shuffle` has them.
void shuffle(std::size_t real_bytes, std::span<const std::byte> reals, std::span<std::byte> sorted);
/// The inverse.
void unshuffle(std::size_t real_bytes, std::span<const std::byte> sorted, std::span<std::byte> reals);

}  // namespace sidestream::core
