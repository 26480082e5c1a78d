#pragma once

#include <cstdint>

namespace sidestream::io {

/// Rows [first, first + count) of a table.
struct Share {
  std::int64_t first = 0, count = 0;
};

/// What the rank `rank` of `ranks` reads of `rows` rows: a contiguous piece, as long as the others' but for one row.
inline Share share_of(std::int64_t rows, int rank, int ranks) {
  const std::int64_t each = rows / ranks, left = rows % ranks;
  return {each * rank + (rank < left ? rank : left), each + (rank < left ? 1 : 0)};
}

}  // namespace sidestream::io
