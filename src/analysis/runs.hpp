#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/union_find.hpp"
#include "sidestream/analysis/connectivity.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::analysis {

/// Consecutive cells [begin, end) of a row along x, as large as they can be.
struct Run {
  std::int32_t begin = 0, end = 0;
};

/// The cells at or above a threshold in the blocks of one rank, as runs along x in the order of blocks, z, y, x: an
/// index of the active set whose size follows the set, not the grid.
class Runs {
 public:
  /// The runs are numbered from `number` on.
  Runs(const mesh::Field<double>& field, double threshold, std::int32_t number = 0);

  /// One more than the number of the last run.
  std::int32_t end() const { return number_ + static_cast<std::int32_t>(runs_.size()); }
  const mesh::Field<double>& field() const { return *field_; }
  int blocks() const { return field_->blocks(); }
  const mesh::Box& box(int block) const { return field_->box(block); }

  /// The runs of the row (z, y) of a block, none outside of it; the number of the first.
  std::span<const Run> row(int block, std::int32_t z, std::int32_t y) const {
    const mesh::Box& cells = box(block);
    if (z < cells.lo.z || z >= cells.hi.z || y < cells.lo.y || y >= cells.hi.y) return {};
    const std::size_t r = row_index(block, z, y);
    const auto first = static_cast<std::size_t>(row_start_[r]);
    return std::span(runs_).subspan(first, static_cast<std::size_t>(row_start_[r + 1]) - first);
  }
  std::int32_t first(int block, std::int32_t z, std::int32_t y) const {
    return number_ + row_start_[row_index(block, z, y)];
  }

  /// Calls `f(z, y, part, number)` for the part inside `region` of each run of a block that meets it.
  template <typename F>
  void for_each_in(int block, const mesh::Box& region, F f) const {
    const mesh::Box cells = intersection(box(block), region);
    for (std::int32_t z = cells.lo.z; z < cells.hi.z; ++z)
      for (std::int32_t y = cells.lo.y; y < cells.hi.y; ++y) {
        std::int32_t number = first(block, z, y);
        for (const Run& run : row(block, z, y)) {
          const Run part{std::max(run.begin, cells.lo.x), std::min(run.end, cells.hi.x)};
          if (part.begin < part.end) f(z, y, part, number);
          ++number;
        }
      }
  }

 private:
  std::size_t row_index(int block, std::int32_t z, std::int32_t y) const {
    const mesh::Box& cells = box(block);
    return block_start_[static_cast<std::size_t>(block)] +
           static_cast<std::size_t>(z - cells.lo.z) * static_cast<std::size_t>(cells.hi.y - cells.lo.y) +
           static_cast<std::size_t>(y - cells.lo.y);
  }

  const mesh::Field<double>* field_;
  std::int32_t number_;  // of the first run
  std::vector<Run> runs_;
  std::vector<std::int32_t> row_start_;   // index of the first run of each row, and the end
  std::vector<std::size_t> block_start_;  // index of the first row of each block
};

/// Calls `f(a, b)` with the positions of each run of `as` and each run of `bs` that have neighbouring cells, where the
/// cells of `bs` from x + low to x + high are the neighbours of the cell x of `as`. Both are sorted and disjoint.
/// O(runs + calls).
template <typename F>
void for_each_touching(std::span<const Run> as, std::span<const Run> bs, std::int32_t low, std::int32_t high, F f) {
  std::size_t start = 0;
  for (std::size_t a = 0; a < as.size(); ++a) {
    while (start < bs.size() && bs[start].end <= as[a].begin + low) ++start;
    for (std::size_t b = start; b < bs.size() && bs[b].begin < as[a].end + high; ++b) f(a, b);
  }
}

/// Unites the runs that have neighbouring cells within a block.
void unite_within_blocks(const Runs& runs, Connectivity connectivity, UnionFind& sets);

}  // namespace sidestream::analysis
