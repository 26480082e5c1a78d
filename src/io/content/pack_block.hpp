#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sidestream/io/file_content.hpp"

namespace sidestream::io {

/// Smallest and largest value of a block; infinities the wrong way round where all are NaN.
struct Extremes {
  double lowest, highest;
};

inline std::int64_t size_of(Precision precision) {
  return precision == Precision::double_precision ? 8 : 4;
}

/// The cells of `box`, one of this rank's of `level`: where they lie, or made in `room`. To be multiplied by the
/// factor of `entry`.
core::View4<const double> cells_of(const FileField& entry, std::size_t level, const mesh::Box& box,
                                   std::vector<double>& room);

/// Writes the cells of `box`, one of this rank's of `level`, an array (z, y, x) of numbers of `precision`, to `out`,
/// which may have any alignment: `entry.factor` times the values, to the bit where that is 1. Returns the extremes of
/// the doubles.
Extremes pack_block(const FileField& entry, std::size_t level, const mesh::Box& box, Precision precision,
                    std::byte* out);

}  // namespace sidestream::io
