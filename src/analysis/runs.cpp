#include "analysis/runs.hpp"

#include <limits>

#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

// Appends the runs of the row of `count` cells that starts at the cell x0.
void append_runs(const double* row, std::int32_t count, std::int32_t x0, double threshold, std::vector<Run>& runs) {
  std::int32_t i = 0;
  while (true) {
    while (i < count && !(row[i] >= threshold)) ++i;
    if (i == count) return;
    const std::int32_t begin = i;
    while (i < count && row[i] >= threshold) ++i;
    runs.push_back({x0 + begin, x0 + i});
  }
}

}  // namespace

Runs::Runs(const mesh::Field<double>& field, double threshold, std::int32_t number) : field_(&field), number_(number) {
  for (int b = 0; b < field.blocks(); ++b) {
    const mesh::Box& cells = field.box(b);
    const auto view = field.view(b);
    block_start_.push_back(row_start_.size());
    core::for_each_row(cells, [&](int k, int j) {
      row_start_.push_back(static_cast<std::int32_t>(runs_.size()));
      append_runs(&view(k, j, cells.lo.x), cells.extent().x, cells.lo.x, threshold, runs_);
    });
  }
  core::require(runs_.size() < static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() - number),
                "a rank holds more than 2^31 runs of cells above the threshold; use more ranks");
  row_start_.push_back(static_cast<std::int32_t>(runs_.size()));
}

void unite_within_blocks(const Runs& runs, Connectivity connectivity, UnionFind& sets) {
  std::vector<RowOffset> before;  // each pair of rows once
  for (const RowOffset& row : row_offsets(connectivity))
    if (row.dz < 0 || (row.dz == 0 && row.dy < 0)) before.push_back(row);

  for (int b = 0; b < runs.blocks(); ++b)
    core::for_each_row(runs.box(b), [&](int k, int j) {
      const auto here = runs.row(b, k, j);
      if (here.empty()) return;
      const std::int32_t first = runs.first(b, k, j);
      for (const RowOffset& offset : before) {
        const auto there = runs.row(b, k + offset.dz, j + offset.dy);
        if (there.empty()) continue;
        const std::int32_t first_there = runs.first(b, k + offset.dz, j + offset.dy);
        for_each_touching(here, there, offset.dx_low, offset.dx_high, [&](std::size_t r, std::size_t s) {
          sets.unite(first + static_cast<std::int32_t>(r), first_there + static_cast<std::int32_t>(s));
        });
      }
    });
}

}  // namespace sidestream::analysis
