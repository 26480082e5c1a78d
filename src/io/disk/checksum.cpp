#include "io/disk/checksum.hpp"

#define XXH_INLINE_ALL
#ifdef __AVX512F__
#define XXH_VECTOR 2  // AVX2: as fast here, and compilers do not warn of their own headers
#endif
#include <xxhash.h>

namespace sidestream::io {

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace sidestream::io
