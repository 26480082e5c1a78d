#include "analysis/components/cell_runs.hpp"

#include <cmath>
#include <limits>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

bool is_finite(std::span<const double> row) {
  std::int64_t bad = 0;
  for (const double value : row) bad += !(std::abs(value) <= std::numeric_limits<double>::max());
  return bad == 0;
}

}  // namespace

Runs::Runs(const ScalarView& field, Sets sets, double cut_off, RunCount before)
    : field_(field), sign_(sets == Sets::above ? 1.0 : -1.0), before_(before), end_(before) {
  for (int b = 0; b < field.blocks(); ++b) {
    const mesh::Box& cells = field.box(b);
    const auto view = field.view(b);
    block_start_.push_back(row_start_.size());
    block_cells_.push_back(end_.cells);
    const std::size_t first_run = runs_.size();
    core::for_each_row(cells, [&](int k, int j) {
      row_start_.push_back(static_cast<std::int32_t>(runs_.size()));
      add_row(&view(k, j, cells.lo.x), {cells.lo.x, j, k}, cells.extent().x, cut_off);
    });
    double& top = block_top_.emplace_back(-std::numeric_limits<double>::infinity());
    for (std::size_t run = first_run; run < top_.size(); ++run) top = std::max(top, top_[run]);
  }
  row_start_.push_back(static_cast<std::int32_t>(runs_.size()));
  block_cells_.push_back(end_.cells);
  end_.runs += static_cast<std::int32_t>(runs_.size());
}

void Runs::add_row(const double* row, mesh::Int3 first, std::int32_t length, double cut_off) {
  if (problem_.empty() && !is_finite({row, static_cast<std::size_t>(length)})) {
    const double* const bad = std::find_if(row, row + length, [](double value) { return !std::isfinite(value); });
    problem_ = "the field holds " + std::to_string(*bad) + " at the cell (z, y, x) = (" + std::to_string(first.z) +
               ", " + std::to_string(first.y) + ", " + std::to_string(first.x + (bad - row)) + ")";
    if (field_.layout().level() > 0) problem_ += " of level " + std::to_string(field_.layout().level());
  }
  std::int32_t i = 0;
  while (true) {
    while (i < length && !(sign_ * row[i] >= cut_off)) ++i;
    if (i == length) return;
    const std::int32_t begin = i;
    double top = sign_ * row[i];
    for (; i < length && sign_ * row[i] >= cut_off; ++i) top = std::max(top, sign_ * row[i]);
    core::require(end_.cells < std::numeric_limits<std::int32_t>::max() - (i - begin),
                  "a rank has 2^31 cells in its merge tree, or more; use more ranks");
    runs_.push_back({first.x + begin, first.x + i});
    cell_start_.push_back(end_.cells);
    top_.push_back(top);
    end_.cells += i - begin;
  }
}

}  // namespace sidestream::analysis
