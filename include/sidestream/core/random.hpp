#pragma once

#include <array>
#include <cstdint>

namespace sidestream::core {

/// Philox4x32-10, a counter-based random number generator (Salmon et al. 2011, SC'11): 128 random bits that depend on
/// `counter` and `key` alone, so that a field keyed by the global cell index is the same on any decomposition.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// A uniform deviate in (0, 1) for the `index`-th draw of stream `stream` of `seed`.
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// A normal deviate of mean 0 and variance 1 (Box & Muller 1958) for the `index`-th draw of stream `stream` of `seed`.
double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace sidestream::core
