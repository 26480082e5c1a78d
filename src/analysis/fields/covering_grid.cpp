#include "sidestream/analysis/covering_grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/fields/levels.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/owned_cells.hpp"

namespace sidestream::analysis {

using mesh::Box;
using mesh::Int3;
using mesh::Layout;

void check_covering_grid(const Box& root, int level) {
  constexpr double most = 1e10, bytes_a_cell = 24;  // the field, its transform and the transform's work space
  const double cells = std::ldexp(static_cast<double>(root.volume()), bits_a_level(root) * level);
  if (level > 0 && cells > most)
    throw core::Error(fmt::format("the covering grid of level {} has {:.3g} cells", level, cells), "level",
                      fmt::format("its spectrum would take {:.3g} GiB of memory: choose a lower `level`",
                                  cells * bytes_a_cell / 0x1p30));
}

namespace {

// Slabs of the root grid, refined, so that the boxes do not cut through cells of any coarser level.
Layout slabs(const Layout& root, int ranks, int level) {
  const Int3 cells = root.domain().extent();
  const std::int32_t along_z = std::min(ranks, cells.z), along_y = std::min(ranks / along_z, cells.y);
  const Layout coarse = mesh::split(root.domain(), {1, along_y, along_z});
  const Int3 bits = bits_between(root.domain(), level);
  std::vector<Box> boxes;
  for (const Box& box : coarse.boxes()) boxes.push_back(refined(box, bits));
  return {refined(root.domain(), bits),
          root.periodic(),
          std::move(boxes),
          {coarse.owners().begin(), coarse.owners().end()},
          level};
}

// The boxes of coarse cells that each box touches, with the same owners. They may overlap.
Layout outlines(const Layout& fine, int levels) {
  const Int3 bits = bits_between(fine.domain(), levels);
  std::vector<Box> boxes;
  for (const Box& box : fine.boxes()) boxes.push_back(coarsened(box, bits));
  return {coarsened(fine.domain(), bits),
          fine.periodic(),
          std::move(boxes),
          {fine.owners().begin(), fine.owners().end()},
          fine.level() - levels};
}

// Calls `f(cell, sum)` for each coarse cell that a block touches: the sum of the fine cells in it, each 2^`power`
// times.
template <typename F>
void sum_cells(const ScalarView& fine, int block, Int3 bits, int power, F f) {
  const Box outline = coarsened(fine.box(block), bits);
  std::vector<core::CompactSum> sums(static_cast<std::size_t>(outline.volume()));
  core::for_each_cell(fine.box(block), [&, view = fine.view(block)](int k, int j, int i) {
    sums[static_cast<std::size_t>(linear_index(outline, coarsened(Int3{i, j, k}, bits)))].add(view(k, j, i), power);
  });
  auto next = sums.begin();
  core::for_each_cell(outline, [&](int k, int j, int i) { f(Int3{i, j, k}, *next++); });
}

}  // namespace

CoveringGrid::CoveringGrid(const comm::Communicator& comm, std::span<const Layout> levels, int level)
    : level_(level), is_uniform_(levels.size() == 1 && level == 0) {
  core::require(level >= 0, "a covering grid has a level of 0 or more");
  check_covering_grid(levels.front().domain(), level);
  layout_ = is_uniform_ ? levels.front() : slabs(levels.front(), comm.size(), level);
  if (is_uniform_) return;
  for (int leaf_level = 0; leaf_level < static_cast<int>(levels.size()); ++leaf_level) {
    const Layout& leaves = levels[static_cast<std::size_t>(leaf_level)];
    if (leaves.size() == 0) continue;
    if (leaf_level < level)
      coarser_.push_back({leaf_level, {comm, leaves, outlines(layout_, level - leaf_level)}});
    else if (leaf_level == level)
      equal_.emplace(comm, leaves, layout_);
    else
      has_finer_ = true;
  }
}

ScalarView CoveringGrid::of(const comm::Communicator& comm, const LeafField& field) const {
  if (is_uniform_) return field.front();
  auto grid = std::make_shared<mesh::Field<double>>(layout_, comm.rank());
  if (has_finer_) average(comm, field, *grid);
  for (const Transfer& coarser : coarser_) inject(coarser, field[static_cast<std::size_t>(coarser.level)], *grid);
  if (equal_) equal_->apply(field[static_cast<std::size_t>(level_)], *grid);
  return grid;
}

void CoveringGrid::average(const comm::Communicator& comm, const LeafField& field, mesh::Field<double>& grid) const {
  const int a_level = bits_a_level(layout_.domain()), finest = finest_level(field);
  std::vector<std::vector<IndexedPortion>> outgoing(static_cast<std::size_t>(comm.size()));
  for (int level = level_ + 1; level <= finest; ++level) {
    const ScalarView& leaves = field[static_cast<std::size_t>(level)];
    for (int b = 0; b < leaves.blocks(); ++b)
      sum_cells(leaves, b, bits_between(layout_.domain(), level - level_), a_level * (finest - level),
                [&](Int3 cell, const core::CompactSum& sum) {
                  const int owner = layout_.owner(layout_.find(cell));
                  append(outgoing[static_cast<std::size_t>(owner)], linear_index(layout_.domain(), cell), sum);
                });
  }
  std::vector<IndexedPortion> portions;
  for (const auto& of_rank : comm.exchange(outgoing)) portions.insert(portions.end(), of_rank.begin(), of_rank.end());
  std::sort(portions.begin(), portions.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  const redistribute::OwnedCells own(layout_, comm.rank());
  for (auto next = portions.begin(); next != portions.end();) {
    const std::int64_t index = next->index;
    core::CompactSum sum;
    for (; next != portions.end() && next->index == index; ++next) sum.add(next->portion);
    const Int3 cell = cell_at(layout_.domain(), index);
    grid.view(own.block_of(cell))(cell.z, cell.y, cell.x) = sum.value(-a_level * (finest - level_));
  }
}

void CoveringGrid::inject(const Transfer& coarser, const ScalarView& leaves, mesh::Field<double>& grid) const {
  const Int3 bits = bits_between(layout_.domain(), level_ - coarser.level);
  mesh::Field<double> outline(coarser.plan.destination(), grid.rank());
  coarser.plan.apply(leaves, outline);
  for (int b = 0; b < grid.blocks(); ++b)
    leaves.layout().for_each_meeting(outline.box(b), [&](std::int32_t leaf) {
      const Box cells = intersection(grid.box(b), refined(leaves.layout().box(leaf), bits));
      core::for_each_cell(cells, [=, from = outline.view(b), to = grid.view(b)](int k, int j, int i) {
        to(k, j, i) = from(k >> bits.z, j >> bits.y, i >> bits.x);
      });
    });
}

ScalarView covering_field(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const std::string& name,
                          int level) {
  return CoveringGrid(comm, snapshot.levels, level).of(comm, field_or_total(snapshot, name));
}

}  // namespace sidestream::analysis
