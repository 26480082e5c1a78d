#include "analysis/friends_of_friends/point_cells.hpp"

#include <algorithm>
#include <bit>
#include <numbers>

namespace sidestream::analysis {

namespace {

constexpr int most_cell_bits = 19;  // along an axis, so that a cell and its part fit into 64 bits

struct Keyed {
  std::uint64_t key = 0;
  std::int32_t index = 0;
};

// Sorts by key; equal keys keep their order. Eleven bits a pass, of those in which keys differ.
void radix_sort(std::vector<Keyed>& values, int bits) {
  constexpr int most_bits = 11;
  const int passes = (bits + most_bits - 1) / most_bits;
  std::vector<Keyed> other(values.size());
  std::vector<std::size_t> start;
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = pass * bits / passes, width = (pass + 1) * bits / passes - shift;
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    start.assign(std::size_t{2} << width, 0);
    for (const Keyed& value : values) ++start[(value.key >> shift & mask) + 1];
    for (std::size_t digit = 1; digit < start.size(); ++digit) start[digit] += start[digit - 1];
    for (const Keyed& value : values) other[start[value.key >> shift & mask]++] = value;
    std::swap(values, other);
  }
}

std::vector<Keyed> sorted_keys(const LinkingGrid& grid, std::span<const Point> points) {
  std::vector<Keyed> values;
  values.reserve(points.size());
  std::uint64_t least = ~std::uint64_t{0}, most = 0;
  for (const Point& point : points) {
    const std::uint64_t key = grid.key_of(point);
    least = std::min(least, key);
    most = std::max(most, key);
    values.push_back({key, static_cast<std::int32_t>(values.size())});
  }
  if (points.size() < 4096) {
    std::sort(values.begin(), values.end(),
              [](const Keyed& a, const Keyed& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; });
    return values;
  }
  for (Keyed& value : values) value.key -= least;
  radix_sort(values, static_cast<int>(std::bit_width(most - least)));
  for (Keyed& value : values) value.key += least;
  return values;
}

}  // namespace

LinkingGrid::Axis::Axis(double from, double length, bool is_periodic, double linking_length) : lower(from) {
  const double half_diagonal = linking_length * (1.0 - linking_margin) / std::numbers::sqrt3;  // side of a part
  const double most =
      std::clamp(std::floor(length / (linking_length * (1.0 + linking_margin))), 1.0, std::ldexp(1.0, most_cell_bits));
  const double with_two_parts = std::max(1.0, std::ceil(length / (2.0 * half_diagonal)));
  cells = static_cast<std::int32_t>(std::min(most, with_two_parts));
  const auto is_small_enough = [&] { return length / cells <= half_diagonal * (1 << part_bits); };
  while (part_bits < 2 && !is_small_enough()) ++part_bits;
  parts_join = is_small_enough();
  if (!parts_join) part_bits = 0;
  cell_bits = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(cells - 1)));
  is_ring = is_periodic && cells > 2;
  const std::int32_t parts = cells << part_bits;
  last_part = parts - 1;
  if (parts > 1) parts_a_length = parts / length;
}

LinkingGrid::LinkingGrid(const Extent& extent, double linking_length)
    : axes_{Axis(extent.lower[0], extent.length[0], extent.periodic[0], linking_length),
            Axis(extent.lower[1], extent.length[1], extent.periodic[1], linking_length),
            Axis(extent.lower[2], extent.length[2], extent.periodic[2], linking_length)},
      part_bits_(axes_[0].part_bits + axes_[1].part_bits + axes_[2].part_bits),
      parts_join_(axes_[0].parts_join && axes_[1].parts_join && axes_[2].parts_join) {}

LinkingGrid::Few LinkingGrid::near(std::size_t axis, std::int32_t cell) const {
  const Axis& along = axes_[axis];
  Few few;
  for (std::int32_t other = cell - 1; other <= cell + 1; ++other) {
    if (other >= 0 && other < along.cells)
      few.cells[static_cast<std::size_t>(few.count++)] = other;
    else if (along.is_ring)
      few.cells[static_cast<std::size_t>(few.count++)] = other < 0 ? along.cells - 1 : 0;
  }
  return few;
}

PointCells::PointCells(const LinkingGrid& grid, std::span<const Point> points) {
  const std::vector<Keyed> sorted = sorted_keys(grid, points);
  points_.reserve(points.size());
  order_.reserve(points.size());
  std::uint64_t last = ~std::uint64_t{0};
  for (const auto [key, index] : sorted) {
    const auto here = static_cast<std::int32_t>(points_.size());
    const std::uint64_t cell = key >> grid.part_bits(), row = cell >> grid.x_bits();
    const std::uint64_t last_cell = last >> grid.part_bits();
    const bool is_first = here == 0;
    if (is_first || row != last_cell >> grid.x_bits()) rows_.push_back({row, static_cast<std::int32_t>(cells_.size())});
    if (is_first || cell != last_cell)
      cells_.push_back(
          {static_cast<std::int32_t>(cell - (row << grid.x_bits())), static_cast<std::int32_t>(item_start_.size())});
    if (is_first || key != last || !grid.parts_join()) item_start_.push_back(here);
    points_.push_back(points[static_cast<std::size_t>(index)]);
    order_.push_back(index);
    last = key;
  }
  rows_.push_back({0, static_cast<std::int32_t>(cells_.size())});
  cells_.push_back({0, static_cast<std::int32_t>(item_start_.size())});
  item_start_.push_back(static_cast<std::int32_t>(points_.size()));
}

std::ptrdiff_t RowFinder::find(std::uint64_t key) {
  const auto is_below = [](const PointCells::Row& row, std::uint64_t value) { return row.key < value; };
  if (next_ > 0 && rows_[next_ - 1].key >= key) next_ = 0;
  std::size_t step = 1, end = next_;
  while (end < rows_.size() && rows_[end].key < key) {
    next_ = end + 1;
    end += step;
    step *= 2;
  }
  const auto begin = rows_.begin();
  const auto found = std::lower_bound(begin + static_cast<std::ptrdiff_t>(next_),
                                      begin + static_cast<std::ptrdiff_t>(std::min(end, rows_.size())), key, is_below);
  next_ = static_cast<std::size_t>(found - begin);
  return found != rows_.end() && found->key == key ? found - begin : -1;
}

}  // namespace sidestream::analysis
