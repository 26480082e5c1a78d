#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/content/file_content.hpp"

namespace sidestream::io {

/// Smallest and largest value of a block; infinities the wrong way round where all are NaN.
struct Extremes {
  double lowest, highest;
};

inline std::int64_t size_of(Precision precision) {
  return precision == Precision::double_precision ? 8 : 4;
}

/// What a compressor is told of a block of numbers of a file, x fastest.
core::BlockForm form_of(mesh::Int3 cells, ElementType type);

/// A variable is `factor` times `cells`.
struct BlockCells {
  core::View4<const double> cells;
  double factor = 1.0;
};

/// The variable `field` on `box`, one of this rank's of `level`: where the cells lie, or made in `room`.
BlockCells cells_of(const FileContent& content, const std::string& field, std::size_t level, const mesh::Box& box,
                    std::vector<double>& room);

/// Writes the variable `field` on `box`, one of this rank's of `level`, an array (z, y, x) of numbers of the file's
/// precision, to `out`, which may have any alignment. Returns the extremes of the doubles.
Extremes pack_block(const FileContent& content, const std::string& field, std::size_t level, const mesh::Box& box,
                    std::byte* out);

}  // namespace sidestream::io
