#include "analysis/merge_tree/tree_tables.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "analysis/at.hpp"
#include "analysis/merge_tree/merge_tree_impl.hpp"
#include "analysis/merge_tree/representatives.hpp"

namespace sidestream::analysis {

namespace {

using namespace tree_tables;

template <typename T>
void add(mesh::Result& result, const char* dimension, const std::string& name, const std::string& text,
         std::vector<T> values, const std::string& unit = "1") {
  const auto length = static_cast<std::int64_t>(values.size());
  result.distributed.insert(dimension);
  result.add(name, unit, text, {dimension}, {length}, std::move(values));
}

// Calls `f(level, block)` for each block here that has active cells.
template <typename F>
void for_each_block(const TreePart& part, F f) {
  for (int level = 0; level < static_cast<int>(part.levels().size()); ++level) {
    const Runs& runs = part.levels()[at(level)];
    for (int b = 0; b < runs.blocks(); ++b)
      if (runs.first_cell_of(b) < runs.first_cell_of(b + 1)) f(level, b);
  }
}

void add_blocks(const TreePart& part, mesh::Result& result) {
  std::vector<std::int64_t> level_of, runs_of, cells_of, maxima_of;
  std::array<std::vector<std::int64_t>, 3> lo, hi;
  for_each_block(part, [&](int level, int b) {
    const Runs& runs = part.levels()[at(level)];
    level_of.push_back(level);
    for (int axis = 0; axis < 3; ++axis) {
      lo[at(axis)].push_back(runs.box(b).lo[axis]);
      hi[at(axis)].push_back(runs.box(b).hi[axis]);
    }
    runs_of.push_back(0);
    runs.for_each(b, [&](std::int32_t, std::int32_t, Run, std::int32_t) { ++runs_of.back(); });
    cells_of.push_back(runs.first_cell_of(b + 1) - runs.first_cell_of(b));
    const auto maxima = part.maximum_of().subspan(at(runs.first_cell_of(b)), at(cells_of.back()));
    const auto [first, last] = std::minmax_element(maxima.begin(), maxima.end());
    maxima_of.push_back(*last - *first + 1);
  });
  add(result, of_block, "block_level", "level of refinement of a block", std::move(level_of));
  for (int axis = 0; axis < 3; ++axis) {
    const std::string letter(1, "xyz"[axis]);
    add(result, of_block, "block_begin_" + letter, "first cell of the block along " + letter, std::move(lo[at(axis)]));
    add(result, of_block, "block_end_" + letter, "one more than its last cell", std::move(hi[at(axis)]));
  }
  add(result, of_block, "block_runs", "number of its rows in the table of runs", std::move(runs_of));
  add(result, of_block, "block_cells", "number of its rows in the table of cells", std::move(cells_of));
  add(result, of_block, "block_maxima", "number of its rows in the table of maxima", std::move(maxima_of));
}

void add_runs(const TreePart& part, mesh::Result& result) {
  std::vector<std::int64_t> xs, ys, zs, lengths;
  for_each_block(part, [&](int level, int b) {
    part.levels()[at(level)].for_each(b, [&](std::int32_t z, std::int32_t y, Run run, std::int32_t) {
      xs.push_back(run.begin);
      ys.push_back(y);
      zs.push_back(z);
      lengths.push_back(run.end - run.begin);
    });
  });
  add(result, of_run, "run_x", "first of consecutive cells along x, on the grid of its level", std::move(xs));
  add(result, of_run, "run_y", "their y", std::move(ys));
  add(result, of_run, "run_z", "their z", std::move(zs));
  add(result, of_run, "run_length", "number of cells", std::move(lengths));
}

std::vector<double> values_of(const TreePart& part, const LeafField& field) {
  std::vector<double> values;
  for_each_block(part, [&](int level, int b) {
    const auto view = field[at(level)].view(b);
    part.levels()[at(level)].for_each(b, [&](std::int32_t z, std::int32_t y, Run run, std::int32_t) {
      const double* const row = &view(z, y, 0);
      values.insert(values.end(), row + run.begin, row + run.end);
    });
  });
  return values;
}

// `first[p]` is the row of the first maximum of rank p.
void add_maxima(const TreePart& part, double sign, std::span<const Peak> elders, std::span<const std::int64_t> first,
                mesh::Result& result) {
  std::vector<std::int64_t> cells, saddles, parents, parent_rows;
  std::vector<double> births, deaths, parent_births;
  for (std::size_t m = 0; m < part.peaks().size(); ++m) {
    const Peak& peak = part.peaks()[m];
    const BranchEnd& end = part.ends()[m];
    const Peak& parent = elders[m];
    const bool has_end = parent.rank >= 0;
    cells.push_back(peak.cell);
    births.push_back(sign * peak.height);
    saddles.push_back(end.saddle.cell);
    deaths.push_back(sign * end.saddle.height);
    parents.push_back(has_end ? parent.cell : -1);
    parent_births.push_back(has_end ? sign * parent.height : std::numeric_limits<double>::quiet_NaN());
    parent_rows.push_back(has_end ? first[at(parent.rank)] + parent.maximum : -1);
  }
  add(result, of_maximum, "maximum",
      "linear index of the cell of a maximum of a block, on the grid of the finest level", std::move(cells));
  add(result, of_maximum, "birth", "value there", std::move(births));
  add(result, of_maximum, "saddle",
      "linear index of the cell where its branch ends, -1 for one that never does; the maximum itself where it is one "
      "of its block alone",
      std::move(saddles));
  add(result, of_maximum, "death", "value there", std::move(deaths));
  add(result, of_maximum, "parent", "maximum of the branch that it joins, or -1", std::move(parents));
  add(result, of_maximum, "parent_birth", "value there, or NaN", std::move(parent_births));
  result.columns.back().has_gaps = true;
  add(result, of_maximum, "parent_row", "its row in this table, or -1", std::move(parent_rows));
}

}  // namespace

mesh::Result MergeTree::to_result(const std::vector<NamedField>& more) const {
  const TreePart& part = impl_->part;
  std::vector<std::int64_t> first(1, 0);
  for (const std::int64_t count : impl_->comm.all_gather(static_cast<std::int64_t>(part.peaks().size())))
    first.push_back(first.back() + count);
  mesh::Result result;
  add_blocks(part, result);
  add_runs(part, result);
  std::vector<std::int64_t> maximum_rows;
  for (const std::int32_t maximum : part.maximum_of()) maximum_rows.push_back(first[at(impl_->comm.rank())] + maximum);
  add(result, of_cell, maximum_of_cell, "row of the maximum that the cell leads up to, cell by cell of the runs",
      std::move(maximum_rows));
  add(result, of_cell, own_field, "value of the field there", values_of(part, impl_->field));
  for (const NamedField& field : more)
    add(result, of_cell, std::string(field_prefix) + field.name, field.name + " there", values_of(part, field.field),
        field.unit);
  add_maxima(part, impl_->sign(), elders(impl_->comm, part), first, result);
  if (impl_->comm.rank() != 0) return result;

  const mesh::Layout& root = impl_->field.front().layout();
  result.attributes["tree_levels"] = static_cast<std::int64_t>(impl_->field.size());
  for (int axis = 0; axis < 3; ++axis) {
    const std::string letter(1, "xyz"[axis]);
    result.attributes["tree_begin_" + letter] = std::int64_t{root.domain().lo[axis]};
    result.attributes["tree_end_" + letter] = std::int64_t{root.domain().hi[axis]};
    result.attributes["tree_periodic_" + letter] = std::int64_t{root.periodic()[at(axis)]};
  }
  result.attributes["connectivity"] = static_cast<std::int64_t>(impl_->options.connectivity);
  result.attributes["sets_above"] = std::int64_t{impl_->options.sets == Sets::above};
  result.attributes["tree_cut_off"] = impl_->options.cut_off;
  return result;
}

}  // namespace sidestream::analysis
