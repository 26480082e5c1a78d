#include "sidestream/amr/level_transfer.hpp"

#include <algorithm>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::amr {

namespace {

using mesh::Box;
using mesh::Field;
using mesh::Hierarchy;
using mesh::Int3;
using mesh::Layout;

/// Coarse cells around an outline that hold `ghost` fine ghost cells and one more cell for slopes.
mesh::Ghosts outline_ghosts(std::int32_t ghost, const Layout& coarse) {
  return mesh::ghosts_of_active_axes(coarse.domain(), (ghost + 1) / 2 + 1);
}

/// The ghost cells of `box`, `width` layers (none on flat axes), that lie `offset` blocks away.
Box ghost_part(const Box& box, Int3 offset, std::int32_t width) {
  Box part = box;
  for (int axis = 0; axis < 3; ++axis) {
    if (offset[axis] < 0) part.lo[axis] = box.lo[axis] - width, part.hi[axis] = box.lo[axis];
    if (offset[axis] > 0) part.lo[axis] = box.hi[axis], part.hi[axis] = box.hi[axis] + width;
  }
  return part;
}

template <typename F>
void for_each_offset(RefinedAxes axes, F f) {
  const std::int32_t x = axes[0] ? 1 : 0, y = axes[1] ? 1 : 0, z = axes[2] ? 1 : 0;
  for (Int3 offset{0, 0, -z}; offset.z <= z; ++offset.z)
    for (offset.y = -y; offset.y <= y; ++offset.y)
      for (offset.x = -x; offset.x <= x; ++offset.x)
        if (offset != Int3{}) f(offset);
}

/// The boxes of `layout` for which `keep(index)` holds.
template <typename Keep>
Layout subset(const Layout& layout, Keep keep) {
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t b = 0; b < layout.size(); ++b)
    if (keep(b)) {
      boxes.push_back(layout.box(b));
      owners.push_back(layout.owner(b));
    }
  return {layout.domain(), layout.periodic(), std::move(boxes), std::move(owners), layout.level()};
}

bool touches_coarser(const Hierarchy& hierarchy, int level, std::int32_t block) {
  const mesh::BlockKey key = hierarchy.forest().key(level, block);
  bool touches = false;
  for_each_offset(refined_axes(hierarchy.geometry(0).domain),
                  [&](Int3 offset) { touches = touches || hierarchy.forest().neighbor(key, offset) == -1; });
  return touches;
}

/// (1 - weight) * a + weight * b, in `a`.
void blend(Field<double>& a, const Field<double>& b, double weight) {
  for (int block = 0; block < a.blocks(); ++block) {
    const auto from = b.block(block);
    const auto to = a.block(block);
    for (std::size_t n = 0; n < to.size(); ++n) to[n] += weight * (from[n] - to[n]);
  }
}

}  // namespace

LevelTransfer::LevelTransfer(const comm::Communicator& comm, const Hierarchy& hierarchy, int coarse_level,
                             std::int32_t ghost)
    : rank_(comm.rank()),
      ghost_(ghost),
      axes_(refined_axes(hierarchy.geometry(0).domain)),
      coarse_geometry_(hierarchy.geometry(coarse_level)),
      coarsened_(mesh::coarsened(hierarchy.layout(coarse_level + 1))),
      outlines_(subset(coarsened_, [&](std::int32_t b) { return touches_coarser(hierarchy, coarse_level + 1, b); })),
      down_(comm, coarsened_, hierarchy.layout(coarse_level)),
      up_(comm, hierarchy.layout(coarse_level), outlines_, redistribute::Strategy::automatic,
          {.destination_ghost = outline_ghosts(ghost, outlines_)}) {
  core::require(hierarchy.forest().block() % 2 == 0, "blocks that are refined have an even number of cells a side");
  find_regions(hierarchy, coarse_level + 1);
}

void LevelTransfer::find_regions(const Hierarchy& hierarchy, int fine_level) {
  const Layout& fine = hierarchy.layout(fine_level);
  const auto own = fine.boxes_of(rank_);
  int outline = 0;
  for (std::size_t b = 0; b < own.size(); ++b) {
    if (!touches_coarser(hierarchy, fine_level, own[b])) continue;
    const mesh::BlockKey key = hierarchy.forest().key(fine_level, own[b]);
    for_each_offset(axes_, [&](Int3 offset) {
      if (hierarchy.forest().neighbor(key, offset) == -1)
        regions_.push_back({static_cast<int>(b), outline, ghost_part(fine.box(own[b]), offset, ghost_)});
    });
    ++outline;
  }
}

void LevelTransfer::average_down(const Field<double>& fine, Field<double>& coarse) const {
  if (averages_.components() != coarse.components()) averages_ = {coarsened_, rank_, coarse.components()};
  for (int b = 0; b < averages_.blocks(); ++b) average(fine.view(b), averages_.view(b), averages_.box(b), axes_);
  down_.apply(averages_, coarse);
}

Field<double>& LevelTransfer::outlines_of(const CoarseState& coarse, int components, std::size_t which) const {
  Field<double>& outlines = outline_fields_[which];
  if (outlines.components() != components) outlines = {outlines_, rank_, components, outline_ghosts(ghost_, outlines_)};
  up_.apply(coarse.field, outlines);
  if (coarse.prepare) coarse.prepare(outlines);
  return outlines;
}

void LevelTransfer::fill_ghosts(const Field<double>& coarse, Field<double>& fine, const Interpolation& interpolate,
                                const FillOutside& outside, std::optional<std::int32_t> layers) const {
  interpolate_regions(outlines_of({coarse}, fine.components(), 0), fine, interpolate, outside, layers.value_or(ghost_));
}

void LevelTransfer::fill_ghosts(const CoarseState& older, const CoarseState& newer, double weight, Field<double>& fine,
                                const Interpolation& interpolate, const FillOutside& outside) const {
  Field<double>& outlines = outlines_of(weight == 1.0 ? newer : older, fine.components(), 0);
  if (weight > 0.0 && weight < 1.0) blend(outlines, outlines_of(newer, fine.components(), 1), weight);
  interpolate_regions(outlines, fine, interpolate, outside, ghost_);
}

void LevelTransfer::interpolate_regions(Field<double>& outlines, Field<double>& fine, const Interpolation& interpolate,
                                        const FillOutside& outside, std::int32_t layers) const {
  if (outside) outside(outlines, coarse_geometry_);
  const Field<double>& coarse = outlines;
  for (const Region& region : regions_)
    interpolate(coarse.view(region.outline), fine.view(region.fine_block),
                intersection(region.cells, fine.box(region.fine_block).grown(layers)), axes_);
}

void LevelTransfer::take_memory(LevelTransfer&& before) {
  for (std::size_t which = 0; which < outline_fields_.size(); ++which)
    if (before.outline_fields_[which].components() > 0)
      outline_fields_[which] = Field<double>(outlines_, std::move(before.outline_fields_[which]));
  if (before.averages_.components() > 0) averages_ = Field<double>(coarsened_, std::move(before.averages_));
}

namespace {

/// The cells of the blocks of a level that another rank will own.
Field<double> leaving_blocks(const Field<double>& old, const Layout& layout) {
  const Layout leaving = subset(old.layout(), [&](std::int32_t b) {
    const std::int32_t index = layout.find(old.layout().box(b).lo);
    return index >= 0 && layout.owner(index) != old.layout().owner(b);
  });
  Field<double> cells(leaving, old.rank(), old.components());
  int next = 0;
  for (int b = 0; b < old.blocks() && next < cells.blocks(); ++b) {
    if (old.box(b) != cells.box(next)) continue;
    const auto from = old.view(b);
    const auto to = cells.view(next);
    for (int c = 0; c < old.components(); ++c)
      core::for_each_cell(old.box(b), [=](int k, int j, int i) { to(c, k, j, i) = from(c, k, j, i); });
    ++next;
  }
  return cells;
}

/// `old` on the layout of its level, but for the cells of blocks that are new.
Field<double> moved(const comm::Communicator& comm, const Layout& layout, Field<double> old) {
  const Field<double> leaving = leaving_blocks(old, layout);
  Field<double> field(layout, std::move(old));
  if (leaving.layout().size() > 0) redistribute::Redistribution(comm, leaving.layout(), layout).apply(leaving, field);
  return field;
}

/// Interpolates the blocks of a level that the old forest had not.
void set_new_blocks(const comm::Communicator& comm, const Hierarchy& from, const Hierarchy& to, int level,
                    const Field<double>& coarser, const Interpolation& interpolate, const FillOutside& outside,
                    Field<double>& field) {
  const Layout& layout = to.layout(level);
  const RefinedAxes axes = refined_axes(to.geometry(0).domain);
  const auto is_new = [&](std::int32_t b) { return from.forest().find(to.forest().key(level, b)) < 0; };
  const Layout fresh = subset(layout, is_new), outlines = mesh::coarsened(fresh);
  if (fresh.size() == 0) return;
  const mesh::Ghosts for_slopes = mesh::ghosts_of_active_axes(outlines.domain(), 1);
  const redistribute::Redistribution up(comm, to.layout(level - 1), outlines, redistribute::Strategy::automatic,
                                        {.destination_ghost = for_slopes});
  Field<double> coarse(outlines, comm.rank(), field.components(), for_slopes);
  up.apply(coarser, coarse);
  if (outside) outside(coarse, to.geometry(level - 1));
  const Field<double>& filled = coarse;
  int outline = 0;
  for (int b = 0; b < field.blocks(); ++b)
    if (is_new(layout.boxes_of(comm.rank())[static_cast<std::size_t>(b)]))
      interpolate(filled.view(outline++), field.view(b), field.box(b), axes);
}

}  // namespace

std::vector<Field<double>> carried_over(const comm::Communicator& comm, const Hierarchy& from, const Hierarchy& to,
                                        std::vector<Field<double>> fields, const Interpolation& interpolate,
                                        const FillOutside& outside) {
  core::require(static_cast<int>(fields.size()) == from.finest_level() + 1, "a hierarchy has one field a level");
  std::vector<Field<double>> carried;
  for (int level = 0; level <= to.finest_level(); ++level) {
    const auto l = static_cast<std::size_t>(level);
    const Layout& layout = to.layout(level);
    if (l < fields.size() && fields[l].layout() == layout) {
      carried.push_back(std::move(fields[l]));
      continue;
    }
    if (l < fields.size())
      carried.push_back(moved(comm, layout, std::move(fields[l])));
    else
      carried.emplace_back(layout, comm.rank(), carried.front().components(), carried.front().ghosts());
    if (level > 0) set_new_blocks(comm, from, to, level, carried[l - 1], interpolate, outside, carried[l]);
  }
  return carried;
}

}  // namespace sidestream::amr
