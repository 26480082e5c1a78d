// In the place of `zstd.cpp` where there is no Zstandard.
#include "core/compression/entries.hpp"

namespace sidestream::core {

Compressor zstd_compressor() {
  return {.name = "zstd",
          .documentation = "lossless, by Zstandard: not in this build",
          .tag = 1,
          .missing = "build Sidestream with libzstd (-DSIDESTREAM_ZSTD=ON)"};
}

}  // namespace sidestream::core
