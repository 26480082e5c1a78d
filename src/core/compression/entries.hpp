#pragma once

#include "sidestream/core/compressor.hpp"

namespace sidestream::core {

// One function a compressor, in a file of its own; `compressors` lists them.

Compressor no_compressor();
/// Bytes of all reals sorted by their places in a real, then Zstandard (Facebook's, RFC 8878).
Compressor zstd_compressor();
/// zfp in its mode of fixed accuracy (Lindstrom 2014, IEEE TVCG 20, 2674).
Compressor zfp_compressor();

/// What compressed bytes are told to be that cannot be read.
[[noreturn]] void refuse_compressed(const char* what);

}  // namespace sidestream::core
