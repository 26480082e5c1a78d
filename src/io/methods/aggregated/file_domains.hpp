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
/// domains of equal size, whole units of the file system, which are dealt to the aggregators in turn. A domain is
/// written in one window, or in several where a file of few units would have few rounds: in each round an aggregator
/// fills one window while the one before it is written, so the exchange of the first round is all that nothing hides.
/// Every rank tells all of it from these few numbers, so nobody needs a table of what the others hold. (A buffer
/// smaller than a unit is obeyed, and units are shared then.)
class FileDomains {
 public:
  /// Wanted, about, where the windows are no smaller for it than this, and the domains than a unit.
  static constexpr std::int64_t least_rounds = 6, least_window_bytes = std::int64_t{1} << 20;
  static constexpr std::int64_t page_bytes = 4096;  ///< whole ones in the windows of a domain
  /// Of more domains than this none is divided: there are writers enough to keep the file system busy.
  static constexpr std::int64_t most_divided = 64;

  struct Window {
    std::int64_t round = 0, begin = 0, end = 0;
    int rank = 0;  ///< that writes it
  };

  /// `arrays` ascending, not empty.
  FileDomains(const std::vector<ByteRange>& arrays, const AggregationChoice& choice);

  /// That has the byte at `offset`, which lies in an array.
  Window window_at(std::int64_t offset) const;
  std::int64_t rounds() const { return rounds_of_domains() * windows_a_domain_; }
  std::int64_t window_bytes() const { return window_bytes_; }

 private:
  struct Span {
    std::int64_t begin = 0, end = 0, first_domain = 0;
  };
  std::int64_t rounds_of_domains() const { return (domains_ + choice_.aggregators - 1) / choice_.aggregators; }

  AggregationChoice choice_;
  std::vector<Span> spans_;  // ascending; arrays that share a unit or touch are one
  std::int64_t domain_bytes_ = 1, domains_ = 0;
  std::int64_t window_bytes_ = 1, windows_a_domain_ = 1;
};

}  // namespace sidestream::io
