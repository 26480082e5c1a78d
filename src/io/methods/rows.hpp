#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

// What all methods share: the rows of a rank, packed, and cut into what one library call may take.

/// Rows that follow each other, of runs [first_run, last_run).
struct Piece {
  std::int64_t first = 0, count = 0;
  std::size_t first_run = 0, last_run = 0;
};

/// The runs of a rank, joined where one follows the other; none is empty.
std::vector<Piece> pieces_of(const ArrayGroup& group);

/// Rows of `piece` of array `array`, as they stand in the file, into `out`.
void pack_piece(const ArrayGroup& group, std::size_t array, const Piece& piece, std::span<std::byte> out);

/// Rows of this rank.
std::int64_t own_rows(const ArrayGroup& group);

/// All rows of this rank of array `array`, one behind the other, into `out`.
void pack_array(const ArrayGroup& group, std::size_t array, std::span<std::byte> out);

/// Consecutive rows of a file.
struct Rows {
  std::int64_t first = 0, count = 0;
};

/// What one call writes: ranges of rows that lie one behind the other in the packed rows, from `start` on.
struct Part {
  std::int64_t start = 0, count = 0;
  std::vector<Rows> ranges;
};

/// The libraries count in `int`, or did: no call gets more.
constexpr std::int64_t most_bytes_a_call = std::int64_t{1} << 30;

/// The rows of this rank in parts of at most `most_bytes`, or of one row.
std::vector<Part> parts_of(const ArrayGroup& group, std::int64_t row_bytes,
                           std::int64_t most_bytes = most_bytes_a_call);

/// Part `p` or, beyond the last, nothing: so that all ranks make the same number of calls.
const Part& part_or_none(const std::vector<Part>& parts, std::size_t p);

/// Keeps the first error of a rank, which goes on taking part in collective calls so that nobody waits for it.
class FirstFailure {
 public:
  /// Runs `work`, always; true unless it threw.
  template <typename F>
  bool keep(F work) {
    try {
      work();
      return true;
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
      return false;
    }
  }
  bool has_failed() const { return failure_ != nullptr; }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

}  // namespace sidestream::io
