#pragma once

#include <cstddef>
#include <cstdint>

#include "sidestream/io/file_content.hpp"

namespace sidestream::io {

/// Smallest and largest value of a block; infinities the wrong way round where all are NaN.
struct Extremes {
  double lowest, highest;
};

inline std::int64_t size_of(Precision precision) {
  return precision == Precision::double_precision ? 8 : 4;
}

/// Writes the owned cells of block `b` of `level`, an array (z, y, x) of numbers of `precision`, to `out`, which may
/// have any alignment: `entry.factor` times the values, to the bit where that is 1. Returns the extremes of the
/// doubles.
Extremes pack_block(const FileField& entry, std::size_t level, int b, Precision precision, std::byte* out);

}  // namespace sidestream::io
