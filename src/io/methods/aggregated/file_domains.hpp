#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "io/disk/commit_record.hpp"

namespace sidestream::io {

/// By how many ranks a file is written, and in what portions.
struct AggregationChoice {
  int aggregators = 1;            ///< at most `ranks`
  int ranks = 1;                  ///< of the communicator, over which the aggregators are spread
  std::int64_t unit_bytes = 1;    ///< of the file system: no two ranks write into the same one
  std::int64_t buffer_bytes = 1;  ///< of an aggregator, for each window
};

/// Which rank writes which bytes of a file, and when, where some write for all. What the arrays take is cut into
/// windows of equal size, whole units of the file system, which are dealt to the aggregators in turn; in each round an
/// aggregator fills and writes one. Every rank tells all of it from these few numbers, so nobody needs a table of what
/// the others hold. (A buffer smaller than a unit is obeyed, and units are shared then.)
class FileDomains {
 public:
  struct Window {
    std::int64_t round = 0, begin = 0, end = 0;
    int rank = 0;  ///< that writes it
  };

  /// `arrays` ascending, not empty.
  FileDomains(const std::vector<ByteRange>& arrays, const AggregationChoice& choice);

  /// That has the byte at `offset`, which lies in an array.
  Window window_at(std::int64_t offset) const;
  std::int64_t rounds() const { return (windows_ + choice_.aggregators - 1) / choice_.aggregators; }
  std::int64_t window_bytes() const { return window_bytes_; }

 private:
  struct Span {
    std::int64_t begin = 0, end = 0, first_window = 0;
  };
  AggregationChoice choice_;
  std::vector<Span> spans_;  // ascending; arrays that share a unit or touch are one
  std::int64_t window_bytes_ = 1, windows_ = 0;
};

}  // namespace sidestream::io
