#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/friends_of_friends/friends.hpp"

namespace sidestream::analysis {

/// Space cut into cells so large that friends are in the same cell or in neighbouring ones, and these into parts so
/// small that all points in one part are friends. The same on all ranks.
class LinkingGrid {
 public:
  LinkingGrid(const Extent& extent, double linking_length);

  /// The cell and the part that hold a point, in the order of z, y, x and then of the part.
  std::uint64_t key_of(const Point& point) const {
    std::array<std::uint64_t, 3> cell{}, part{};
    for (std::size_t a = 0; a < 3; ++a) {
      const Axis& axis = axes_[a];
      const auto place =
          static_cast<std::int64_t>(std::clamp((point[a] - axis.lower) * axis.parts_a_length, 0.0, axis.last_part));
      cell[a] = static_cast<std::uint64_t>(place >> axis.part_bits);
      part[a] = static_cast<std::uint64_t>(place) & ((std::uint64_t{1} << axis.part_bits) - 1);
    }
    const std::uint64_t row = cell[2] << axes_[1].cell_bits | cell[1];
    const std::uint64_t in_cell = (part[2] << axes_[1].part_bits | part[1]) << axes_[0].part_bits | part[0];
    return (row << axes_[0].cell_bits | cell[0]) << part_bits_ | in_cell;
  }

  /// Whether all points in a part are friends; not so for linking lengths below some millionth of the extent.
  bool parts_join() const { return parts_join_; }
  int part_bits() const { return part_bits_; }
  int x_bits() const { return axes_[0].cell_bits; }
  int y_bits() const { return axes_[1].cell_bits; }

  /// The cells along an axis that are, or neighbour, `cell`: each once.
  struct Few {
    std::array<std::int32_t, 3> cells{};
    int count = 0;
    std::span<const std::int32_t> all() const { return std::span(cells).first(static_cast<std::size_t>(count)); }
  };
  Few near(std::size_t axis, std::int32_t cell) const;
  /// Whether the first and the last cell of a row are neighbours that are not next to each other already.
  bool row_is_ring() const { return axes_[0].is_ring; }
  std::int32_t last_x() const { return axes_[0].cells - 1; }

 private:
  struct Axis {
    Axis(double lower, double length, bool is_periodic, double linking_length);

    double lower, parts_a_length = 0.0, last_part = 0.0;
    std::int32_t cells = 1;
    int cell_bits = 0, part_bits = 0;
    bool is_ring = false, parts_join = false;
  };

  std::array<Axis, 3> axes_;
  int part_bits_;
  bool parts_join_;
};

/// Points sorted into the cells of a grid. Those of one part that are all friends are an *item*; where a part may hold
/// points that are not, each point is one.
class PointCells {
 public:
  PointCells(const LinkingGrid& grid, std::span<const Point> points);

  std::int32_t items() const { return static_cast<std::int32_t>(item_start_.size()) - 1; }
  std::span<const Point> points(std::int32_t item) const { return within(std::span(points_), item); }
  /// The items of a cell: from `begin` to before `end`.
  struct Items {
    std::int32_t begin = 0, end = 0;
  };
  Items items_of(std::int32_t cell) const {
    const auto c = static_cast<std::size_t>(cell);
    return {cells_[c].first_item, cells_[c + 1].first_item};
  }
  /// The places in the list given of the points of an item.
  std::span<const std::int32_t> order(std::int32_t item) const { return within(std::span(order_), item); }

  struct Cell {
    std::int32_t x = 0, first_item = 0;
  };
  std::int32_t cells() const { return static_cast<std::int32_t>(cells_.size()) - 1; }

  struct Row {
    std::uint64_t key = 0;  ///< z and y
    std::int32_t first_cell = 0;
  };
  /// Rows along x that hold points, ascending by key, and one more.
  std::span<const Row> rows() const { return rows_; }
  /// The cells of a row that hold points, ascending by x.
  std::span<const Cell> cells_of(std::size_t row) const {
    const auto begin = static_cast<std::size_t>(rows_[row].first_cell);
    return std::span(cells_).subspan(begin, static_cast<std::size_t>(rows_[row + 1].first_cell) - begin);
  }

 private:
  template <typename T>
  std::span<const T> within(std::span<const T> all, std::int32_t item) const {
    const auto begin = static_cast<std::size_t>(item_start_[static_cast<std::size_t>(item)]);
    return all.subspan(begin, static_cast<std::size_t>(item_start_[static_cast<std::size_t>(item) + 1]) - begin);
  }

  std::vector<Point> points_;
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> item_start_;
  std::vector<Cell> cells_;
  std::vector<Row> rows_;
};

/// Finds rows by key; quick when keys asked for ascend.
class RowFinder {
 public:
  explicit RowFinder(std::span<const PointCells::Row> rows) : rows_(rows.first(rows.size() - 1)) {}
  /// The index of the row, or -1.
  std::ptrdiff_t find(std::uint64_t key);

 private:
  std::span<const PointCells::Row> rows_;
  std::size_t next_ = 0;  // the first row that is not below the last key
};

/// Calls `f(i, j)` with the position in `as` and in `bs` of each cell of a row and each cell of the same or another row
/// that is near it along x.
template <typename F>
void for_each_near_in_rows(const LinkingGrid& grid, std::span<const PointCells::Cell> as,
                           std::span<const PointCells::Cell> bs, F f) {
  std::size_t start = 0;
  for (std::size_t i = 0; i < as.size(); ++i) {
    while (start < bs.size() && bs[start].x < as[i].x - 1) ++start;
    for (std::size_t j = start; j < bs.size() && bs[j].x <= as[i].x + 1; ++j) f(i, j);
  }
  if (!grid.row_is_ring() || as.empty() || bs.empty()) return;
  if (as.front().x == 0 && bs.back().x == grid.last_x()) f(std::size_t{0}, bs.size() - 1);
  if (as.back().x == grid.last_x() && bs.front().x == 0) f(as.size() - 1, std::size_t{0});
}

/// Calls `f(a, b)` with the number in `as` and in `bs` of each cell of one and each cell of the other that is near it
/// or at the same place. If `as` and `bs` are the same object, each pair of two cells comes once.
template <typename F>
void for_each_near(const LinkingGrid& grid, const PointCells& as, const PointCells& bs, F f) {
  const bool is_same = &as == &bs;
  const std::uint64_t y_mask = (std::uint64_t{1} << grid.y_bits()) - 1;
  std::vector<RowFinder> finders(9, RowFinder(bs.rows()));
  for (std::size_t row = 0; row + 1 < as.rows().size(); ++row) {
    const std::uint64_t own = as.rows()[row].key;
    const auto near_z = grid.near(2, static_cast<std::int32_t>(own >> grid.y_bits()));
    const auto near_y = grid.near(1, static_cast<std::int32_t>(own & y_mask));
    std::size_t finder = 0;
    for (const std::int32_t z : near_z.all())
      for (const std::int32_t y : near_y.all()) {
        RowFinder& at = finders[finder++];
        const std::uint64_t key = static_cast<std::uint64_t>(z) << grid.y_bits() | static_cast<std::uint64_t>(y);
        if (is_same && key < own) continue;
        const std::ptrdiff_t other = at.find(key);
        if (other < 0) continue;
        const bool is_own_row = is_same && key == own;
        const std::int32_t first_a = as.rows()[row].first_cell;
        const std::int32_t first_b = bs.rows()[static_cast<std::size_t>(other)].first_cell;
        for_each_near_in_rows(grid, as.cells_of(row), bs.cells_of(static_cast<std::size_t>(other)),
                              [&](std::size_t i, std::size_t j) {
                                if (!is_own_row || i < j)
                                  f(first_a + static_cast<std::int32_t>(i), first_b + static_cast<std::int32_t>(j));
                              });
      }
  }
}

}  // namespace sidestream::analysis
