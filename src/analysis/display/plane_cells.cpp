#include "analysis/display/plane_cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "analysis/at.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::analysis {

using mesh::Box;
using mesh::Int3;

namespace {

// Blocks are cut into strips of so many cells along the vertical axis, so that little is read beside what is asked for.
constexpr std::int32_t strip_cells = 64;

core::View4<double> view_of(std::vector<double>& room, const Box& box) {
  const Int3 n = box.extent();
  room.resize(static_cast<std::size_t>(box.volume()));
  return {room.data(), box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 1};
}

void copy_cells(const core::View4<const double>& from, const Box& cells, const core::View4<double>& out) {
  core::for_each_row(
      cells, [&](int k, int j) { std::copy_n(&from(k, j, cells.lo.x), cells.extent().x, &out(k, j, cells.lo.x)); });
}

}  // namespace

PlaneCells::PlaneCells(const comm::Communicator& comm, const mesh::Snapshot& snapshot, std::string quantity,
                       const ImagePlane& plane, double position)
    : comm_(comm), snapshot_(snapshot), quantity_(std::move(quantity)), plane_(plane), position_(position) {
  if (!snapshot.has(quantity_)) {
    at_hand_ = field_or_total(snapshot, quantity_);
    return;
  }
  snapshot.prepare(quantity_);
  const mesh::Snapshot::Stored& stored = snapshot.stored(quantity_);
  if (stored.factor == 1.0)
    for (const ScalarView& cells : stored.levels) at_hand_.push_back(cells.component(stored.component));
  at_hand_.resize(snapshot.levels.size());
}

// The plane of cells of the level that holds the position.
std::int32_t PlaneCells::depth(int level) const {
  const Box& domain = snapshot_.levels[at(level)].domain();
  const std::int32_t n = domain.extent()[plane_.axis];
  return domain.lo[plane_.axis] + std::min(n - 1, static_cast<std::int32_t>(std::floor(position_ * n)));
}

Box PlaneCells::in_plane(Box cells, int level) const {
  cells.lo[plane_.axis] = std::max(cells.lo[plane_.axis], depth(level));
  cells.hi[plane_.axis] = std::min(cells.hi[plane_.axis], depth(level) + 1);
  return cells;
}

// By how many the cells of the level are larger than pixels.
Int3 PlaneCells::bits(int level) const {
  return bits_between(plane_.domain, plane_.level - level);
}

Box PlaneCells::cells_of(const Box& pixels, int level) const {
  Box cells = plane_.domain;
  const Int3& low = plane_.domain.lo;
  cells.lo[plane_.horizontal] = low[plane_.horizontal] + pixels.lo.x;
  cells.hi[plane_.horizontal] = low[plane_.horizontal] + pixels.hi.x;
  cells.lo[plane_.vertical] = plane_.domain.hi[plane_.vertical] - pixels.hi.y;
  cells.hi[plane_.vertical] = plane_.domain.hi[plane_.vertical] - pixels.lo.y;
  return in_plane(coarsened(cells, bits(level)), level);
}

// `cells` are of the finest level.
Box PlaneCells::pixels_of(const Box& cells) const {
  const std::int32_t left = plane_.domain.lo[plane_.horizontal], top = plane_.domain.hi[plane_.vertical];
  return {{cells.lo[plane_.horizontal] - left, top - cells.hi[plane_.vertical], 0},
          {cells.hi[plane_.horizontal] - left, top - cells.lo[plane_.vertical], 1}};
}

// The cells of a leaf of this rank: where they lie, or computed in `room`.
core::View4<const double> PlaneCells::block(int level, const Box& leaf, std::vector<double>& room) const {
  const ScalarView& known = at_hand_[at(level)];
  if (known.table()) return known.view_on(leaf);
  const core::View4<double> computed = view_of(room, leaf);
  snapshot_.write(quantity_, level, leaf, computed);
  return computed;
}

PlaneContent PlaneCells::content(Scale scale, Limits limits) const {
  PlaneContent found;
  std::vector<double> room;
  comm_.agree_on([&] {
    for (int level = 0; level <= snapshot_.finest_level(); ++level) {
      const mesh::Layout& leaves = snapshot_.levels[at(level)];
      const Int3 larger = bits(level);
      const std::int64_t pixels = std::int64_t{1} << (larger[plane_.horizontal] + larger[plane_.vertical]);
      for (const std::int32_t index : leaves.boxes_of(comm_.rank())) {
        const Box cells = in_plane(leaves.box(index), level);
        if (cells.is_empty()) continue;
        core::for_each_cell(cells, [&, values = block(level, leaves.box(index), room)](int k, int j, int i) {
          const double value = values(k, j, i);
          if (!has_colour(value, scale))
            found.bad += pixels;
          else if (std::isfinite(value))
            found.limits.take(value);
          if (value < limits.low) found.below += pixels;
          if (value > limits.high) found.above += pixels;
        });
      }
    }
  });
  constexpr double none = std::numeric_limits<double>::infinity();
  const bool has_any = found.limits.are_known();
  const double low = comm_.min(has_any ? found.limits.low : none),
               high = comm_.max(has_any ? found.limits.high : -none);
  if (low <= high) found.limits = {low, high};
  std::array<std::int64_t, 3> counts{found.below, found.above, found.bad};
  comm_.sum(std::span<std::int64_t>(counts));
  return {found.limits, counts[0], counts[1], counts[2]};
}

// What `parts` need of the leaves of a level, in strips of these, with their owners.
mesh::Layout PlaneCells::sources(const mesh::Layout& parts, int level) const {
  const mesh::Layout& leaves = snapshot_.levels[at(level)];
  std::set<std::pair<std::int32_t, std::int32_t>> strips;  // leaf, strip
  for (const Box& part : parts.boxes()) {
    const Box wanted = cells_of(part, level);
    leaves.for_each_meeting(wanted, [&](std::int32_t leaf) {
      const Box cells = intersection(wanted, leaves.box(leaf));
      const std::int32_t first = cells.lo[plane_.vertical] / strip_cells;
      const std::int32_t last = (cells.hi[plane_.vertical] - 1) / strip_cells;
      for (std::int32_t strip = first; strip <= last; ++strip) strips.emplace(leaf, strip);
    });
  }
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (const auto& [leaf, strip] : strips) {
    Box cells = in_plane(leaves.box(leaf), level);
    cells.lo[plane_.vertical] = std::max(cells.lo[plane_.vertical], strip * strip_cells);
    cells.hi[plane_.vertical] = std::min(cells.hi[plane_.vertical], (strip + 1) * strip_cells);
    boxes.push_back(cells);
    owners.push_back(leaves.owner(leaf));
  }
  return {leaves.domain(), leaves.periodic(), std::move(boxes), std::move(owners), level};
}

// Strips of the same leaf lie behind one another, so that it is computed once.
mesh::Field<double> PlaneCells::read(const mesh::Layout& sources, int level) const {
  const mesh::Layout& leaves = snapshot_.levels[at(level)];
  mesh::Field<double> field(sources, comm_.rank());
  std::vector<double> room;
  std::int32_t known = -1;
  core::View4<const double> cells;
  comm_.agree_on([&] {
    for (int b = 0; b < field.blocks(); ++b) {
      const std::int32_t leaf = leaves.find(field.box(b).lo);
      if (leaf != known) cells = block(level, leaves.box(leaf), room);
      known = leaf;
      copy_cells(cells, field.box(b), field.view(b));
    }
  });
  return field;
}

mesh::Pixels PlaneCells::paint(const mesh::Layout& parts, const Colouring& colouring) const {
  mesh::Pixels pixels(parts, comm_.rank());
  for (int level = 0; level <= snapshot_.finest_level(); ++level) {
    const mesh::Layout& leaves = snapshot_.levels[at(level)];
    if (leaves.size() == 0) continue;
    std::vector<Box> boxes;
    for (const Box& part : parts.boxes()) boxes.push_back(cells_of(part, level));
    const std::vector<std::int32_t> owners(parts.owners().begin(), parts.owners().end());
    const mesh::Layout tiles(leaves.domain(), leaves.periodic(), std::move(boxes), owners, level);
    mesh::Field<double> values(tiles, comm_.rank());
    {
      const mesh::Layout from = sources(parts, level);
      redistribute::Redistribution(comm_, from, tiles).apply(read(from, level), values);
    }
    const Int3 larger = bits(level);
    for (int b = 0; b < pixels.blocks(); ++b)
      leaves.for_each_meeting(values.box(b), [&](std::int32_t leaf) {
        const Box of_leaf = pixels_of(refined(in_plane(leaves.box(leaf), level), larger));
        core::for_each_cell(intersection(of_leaf, pixels.box(b)),
                            [&, out = pixels.view(b), in = values.view(b)](int, int row, int column) {
                              Int3 cell;
                              cell[plane_.axis] = depth(level) << larger[plane_.axis];
                              cell[plane_.horizontal] = plane_.domain.lo[plane_.horizontal] + column;
                              cell[plane_.vertical] = plane_.domain.hi[plane_.vertical] - 1 - row;
                              const Int3 from = coarsened(cell, larger);
                              out(0, row, column) = colouring.pixel(in(from.z, from.y, from.x));
                            });
      });
  }
  return pixels;
}

}  // namespace sidestream::analysis
