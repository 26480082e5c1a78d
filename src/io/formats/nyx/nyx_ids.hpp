#pragma once

#include <cstdint>

namespace sidestream::io {

/// The two integers by which a plot file names a particle: a positive number and the rank that made it. Our 64-bit ids
/// are spread over both, so that they come back.
struct NyxId {
  std::int32_t id = 1, cpu = 0;
};

inline constexpr std::int64_t largest_nyx_id = 0x7fffffff;
/// Of our ids that fit into both integers, the second taken without sign.
inline constexpr std::int64_t largest_particle_id = largest_nyx_id * 0xffffffff + largest_nyx_id - 1;

inline NyxId nyx_id(std::int64_t id) {
  return {static_cast<std::int32_t>(id % largest_nyx_id + 1),
          static_cast<std::int32_t>(static_cast<std::uint32_t>(id / largest_nyx_id))};
}

inline std::int64_t particle_id(NyxId id) {
  return std::int64_t{static_cast<std::uint32_t>(id.cpu)} * largest_nyx_id + id.id - 1;
}

}  // namespace sidestream::io
