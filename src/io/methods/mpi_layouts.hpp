#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "io/methods/mpi_file.hpp"
#include "io/methods/rows.hpp"

namespace sidestream::io {

/// Calls `f(offset, bytes)` for pieces of [offset, offset + bytes) that an `int` can count.
template <typename F>
void for_each_chunk(std::int64_t offset, std::int64_t bytes, F f) {
  while (bytes > 0) {
    const std::int64_t chunk = std::min(bytes, most_bytes_a_call);
    f(offset, static_cast<int>(chunk));
    offset += chunk;
    bytes -= chunk;
  }
}

/// Runs of bytes on their way to an MPI datatype; runs that touch are joined.
class ByteRuns {
 public:
  void add(std::int64_t offset, std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }
  /// One element is all runs; MPI_BYTE where there are none.
  MpiType type() const;

 private:
  std::vector<MPI_Aint> offsets_;
  std::vector<int> lengths_;
  std::int64_t bytes_ = 0;
};

/// Writes all arrays of group `g` in one collective call (more where an `int` cannot count the bytes). What fails on
/// this rank is kept. Collective.
void write_combined(const ArrayWrite& work, std::size_t g, MpiFile& file, FirstFailure& failure,
                    AccessStatistics& statistics);

}  // namespace sidestream::io
