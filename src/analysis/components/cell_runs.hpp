#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::analysis {

/// Consecutive cells [begin, end) of a row along x, as large as they can be.
struct Run {
  std::int32_t begin = 0, end = 0;
};

/// Numbers of runs and of active cells, of all levels up to one.
struct RunCount {
  std::int32_t runs = 0, cells = 0;
};

/// The active cells of one level of one rank, those whose height reaches a cut-off, as runs along x in the order of
/// blocks, z, y, x: an index whose size follows the active cells, not the grid. Heights are the values of the field, or
/// for sets below a threshold these with their sign changed. Runs and active cells are numbered.
class Runs {
 public:
  /// Runs and cells are numbered from `before` on. Throws core::Error when there are 2^31 runs or cells, or more.
  Runs(const ScalarView& field, Sets sets, double cut_off, RunCount before = {});

  /// One more than the numbers of the last run and cell.
  RunCount end() const { return end_; }
  const ScalarView& field() const { return field_; }
  int blocks() const { return field_.blocks(); }
  const mesh::Box& box(int block) const { return field_.box(block); }
  /// The first value that is not finite, and where, in words; empty if there is none.
  const std::string& problem() const { return problem_; }

  double height(double value) const { return sign_ * value; }
  double sign() const { return sign_; }

  /// The runs of the row (z, y) of a block, none outside of it; the number of the first.
  std::span<const Run> row(int block, std::int32_t z, std::int32_t y) const {
    const mesh::Box& cells = box(block);
    if (z < cells.lo.z || z >= cells.hi.z || y < cells.lo.y || y >= cells.hi.y) return {};
    const std::size_t r = row_index(block, z, y);
    const auto first = static_cast<std::size_t>(row_start_[r]);
    return std::span(runs_).subspan(first, static_cast<std::size_t>(row_start_[r + 1]) - first);
  }
  std::int32_t first(int block, std::int32_t z, std::int32_t y) const {
    return before_.runs + row_start_[row_index(block, z, y)];
  }
  /// The number of the first cell of a run.
  std::int32_t first_cell(std::int32_t run) const { return cell_start_[static_cast<std::size_t>(run - before_.runs)]; }
  /// The largest height in a run.
  double top(std::int32_t run) const { return top_[static_cast<std::size_t>(run - before_.runs)]; }
  /// The largest height in a block, minus infinity where no cell is active.
  double top_of(int block) const { return block_top_[static_cast<std::size_t>(block)]; }
  /// The number of the active cell (z, y, x) of a block, or -1 if it is not active or not in the block.
  std::int32_t cell(int block, mesh::Int3 at) const {
    const auto runs = row(block, at.z, at.y);
    const auto run = std::partition_point(runs.begin(), runs.end(), [at](const Run& r) { return r.end <= at.x; });
    if (run == runs.end() || at.x < run->begin) return -1;
    return first_cell(first(block, at.z, at.y) + static_cast<std::int32_t>(run - runs.begin())) + at.x - run->begin;
  }
  /// The numbers of the first active cell of a block and of the one after the last.
  std::int32_t first_cell_of(int block) const { return block_cells_[static_cast<std::size_t>(block)]; }

  /// Calls `f(z, y, run, number)` for each run of a block.
  template <typename F>
  void for_each(int block, F f) const {
    std::int32_t number = 0;
    const mesh::Box& cells = box(block);
    for (std::int32_t z = cells.lo.z; z < cells.hi.z; ++z)
      for (std::int32_t y = cells.lo.y; y < cells.hi.y; ++y) {
        number = first(block, z, y);
        for (const Run& run : row(block, z, y)) f(z, y, run, number++);
      }
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
  void add_row(const double* row, mesh::Int3 first, std::int32_t length, double cut_off);
  std::size_t row_index(int block, std::int32_t z, std::int32_t y) const {
    const mesh::Box& cells = box(block);
    return block_start_[static_cast<std::size_t>(block)] +
           static_cast<std::size_t>(z - cells.lo.z) * static_cast<std::size_t>(cells.hi.y - cells.lo.y) +
           static_cast<std::size_t>(y - cells.lo.y);
  }

  ScalarView field_;
  double sign_;
  RunCount before_, end_;
  std::vector<Run> runs_;
  std::vector<std::int32_t> cell_start_;   // number of the first cell of each run
  std::vector<double> top_;                // largest height of each run
  std::vector<std::int32_t> row_start_;    // index of the first run of each row, and the end
  std::vector<std::size_t> block_start_;   // index of the first row of each block
  std::vector<double> block_top_;          // largest height of each block
  std::vector<std::int32_t> block_cells_;  // number of the first cell of each block, and the end
  std::string problem_;
};

}  // namespace sidestream::analysis
