// In the place of `zfp.cpp` where there is no zfp.
#include "core/compression/entries.hpp"

namespace sidestream::core {

Compressor zfp_compressor() {
  return {.name = "zfp",
          .documentation = "lossy, by zfp: not in this build",
          .tag = 2,
          .is_lossy = true,
          .missing = "build Sidestream with libzfp (-DSIDESTREAM_ZFP=ON)"};
}

}  // namespace sidestream::core
