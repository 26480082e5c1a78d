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
  const auto from = b.all();
  const auto to = a.all();
  for (std::size_t n = 0; n < to.size(); ++n) to[n] += weight * (from[n] - to[n]);
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

Field<double>& LevelTransfer::outlines_of(const Field<double>& coarse, int components, std::size_t which) const {
  Field<double>& outlines = outline_fields_[which];
  if (outlines.components() != components) outlines = {outlines_, rank_, components, outline_ghosts(ghost_, outlines_)};
  up_.apply(coarse, outlines);
  return outlines;
}

void LevelTransfer::fill_ghosts(const Field<double>& coarse, Field<double>& fine, const Interpolation& interpolate,
                                const FillOutside& outside) const {
  interpolate_regions(outlines_of(coarse, fine.components(), 0), fine, interpolate, outside);
}

void LevelTransfer::fill_ghosts(const Field<double>& older, const Field<double>& newer, double weight,
                                Field<double>& fine, const Interpolation& interpolate,
                                const FillOutside& outside) const {
  if (weight == 0.0) return fill_ghosts(older, fine, interpolate, outside);
  if (weight == 1.0) return fill_ghosts(newer, fine, interpolate, outside);
  Field<double>& outlines = outlines_of(older, fine.components(), 0);
  blend(outlines, outlines_of(newer, fine.components(), 1), weight);
  interpolate_regions(outlines, fine, interpolate, outside);
}

void LevelTransfer::interpolate_regions(Field<double>& outlines, Field<double>& fine, const Interpolation& interpolate,
                                        const FillOutside& outside) const {
  if (outside) outside(outlines, coarse_geometry_);
  const Field<double>& coarse = outlines;
  for (const Region& region : regions_)
    interpolate(coarse.view(region.outline), fine.view(region.fine_block), region.cells, axes_);
}

namespace {

/// The new fields of one level: interpolated where the old forest had no block, copied elsewhere.
Field<double> carried_over_level(const comm::Communicator& comm, const Hierarchy& from, const Hierarchy& to, int level,
                                 const Field<double>* old, const Field<double>& shape, const Field<double>* coarser,
                                 const Interpolation& interpolate, const FillOutside& outside, Field<double>* spare) {
  const Layout& layout = to.layout(level);
  const RefinedAxes axes = refined_axes(to.geometry(0).domain);
  Field<double> field = spare == nullptr
                            ? Field<double>(layout, comm.rank(), shape.components(), shape.ghosts())
                            : Field<double>(layout, comm.rank(), shape.components(), shape.ghosts(), std::move(*spare));
  const auto is_new = [&](std::int32_t b) { return level > 0 && from.forest().find(to.forest().key(level, b)) < 0; };
  if (level > 0) {
    const Layout fresh = subset(layout, is_new), outlines = mesh::coarsened(fresh);
    const mesh::Ghosts for_slopes = mesh::ghosts_of_active_axes(outlines.domain(), 1);
    const redistribute::Redistribution up(comm, to.layout(level - 1), outlines, redistribute::Strategy::automatic,
                                          {.destination_ghost = for_slopes});
    Field<double> coarse(outlines, comm.rank(), shape.components(), for_slopes);
    up.apply(*coarser, coarse);
    if (outside) outside(coarse, to.geometry(level - 1));
    const Field<double>& filled = coarse;
    int outline = 0;
    for (int b = 0; b < field.blocks(); ++b)
      if (is_new(layout.boxes_of(comm.rank())[static_cast<std::size_t>(b)]))
        interpolate(filled.view(outline++), field.view(b), field.box(b), axes);
  }
  if (old != nullptr) redistribute::Redistribution(comm, old->layout(), layout).apply(*old, field);
  return field;
}

}  // namespace

std::vector<Field<double>> carried_over(const comm::Communicator& comm, const Hierarchy& from, const Hierarchy& to,
                                        std::vector<Field<double>> fields, const Interpolation& interpolate,
                                        const FillOutside& outside, Field<double>* spare) {
  core::require(static_cast<int>(fields.size()) == from.finest_level() + 1, "a hierarchy has one field a level");
  std::vector<Field<double>> carried;
  for (int level = 0; level <= to.finest_level(); ++level) {
    const auto l = static_cast<std::size_t>(level);
    const Field<double>* old = l < fields.size() ? &fields[l] : nullptr;
    if (old != nullptr && old->layout() == to.layout(level)) {
      carried.push_back(std::move(fields[l]));
      continue;
    }
    carried.push_back(carried_over_level(comm, from, to, level, old, old != nullptr ? *old : carried.front(),
                                         level > 0 ? &carried.back() : nullptr, interpolate, outside, spare));
    if (old == nullptr) continue;
    if (spare != nullptr && spare->capacity() < old->capacity()) *spare = std::move(fields[l]);
    fields[l] = {};
  }
  return carried;
}

}  // namespace sidestream::amr
