#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sidestream/core/compressor.hpp"

namespace sidestream::core {

// A compressed block that says how it was made: the tag of its compressor; of a lossy one the bound as a
// double, in the order of bytes of the cells; then the bytes of the compressor.

/// `cells` of a block, aligned as reals are, by `compressor`; losslessly where that is lossy and cannot keep to
/// `bound`.
std::vector<std::byte> compress_block(const Compressor& compressor, double bound, const BlockForm& form,
                                      std::span<const std::byte> cells);

/// Fills `cells`, all of a block of this form, from what `compress_block` has made. Takes no more memory than a small
/// multiple of `cells`, whatever the bytes are; throws core::Error where they are not sound.
void decompress_block(const BlockForm& form, std::span<const std::byte> bytes, std::span<std::byte> cells);

}  // namespace sidestream::core
