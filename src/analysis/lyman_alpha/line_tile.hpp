#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "sidestream/core/view.hpp"
#include "sidestream/mesh/box.hpp"

namespace sidestream::analysis {

/// A few whole lines of a block along an axis, side by side in x (in y, where they are along x): what goes through the
/// cache at a time. Loaded, they lie one after the other.
struct LineTile {
  static constexpr int most_lines = 16;

  int axis = 0, across = 0;  ///< of the lines; on which they lie side by side
  mesh::Int3 first;          ///< cell of the first line
  int lines = 0, pixels = 0;

  std::size_t size() const { return static_cast<std::size_t>(lines) * static_cast<std::size_t>(pixels); }

  template <typename T>
  void load(const core::View4<T>& from, std::span<double> to) const {
    for_each_cell([&](std::size_t place, const mesh::Int3& cell) { to[place] = from(cell.z, cell.y, cell.x); });
  }
  template <typename T>
  void store(std::span<const double> from, const core::View4<T>& to) const {
    for_each_cell(
        [&](std::size_t place, const mesh::Int3& cell) { to(cell.z, cell.y, cell.x) = static_cast<T>(from[place]); });
  }

 private:
  template <typename F>
  void for_each_cell(F f) const {
    mesh::Int3 cell = first;
    for (int pixel = 0; pixel < pixels; ++pixel, ++cell[axis]) {
      cell[across] = first[across];
      auto place = static_cast<std::size_t>(pixel);
      for (int line = 0; line < lines; ++line, ++cell[across], place += static_cast<std::size_t>(pixels))
        f(place, cell);
    }
  }
};

/// Calls `f(tile)` for tiles that together make `box`, whose lines along `axis` are whole.
template <typename F>
void for_each_tile(const mesh::Box& box, int axis, F f) {
  const int across = axis == 0 ? 1 : 0, rest = 3 - axis - across;
  LineTile tile{axis, across, box.lo, 0, box.extent()[axis]};
  for (; tile.first[rest] < box.hi[rest]; ++tile.first[rest])
    for (tile.first[across] = box.lo[across]; tile.first[across] < box.hi[across]; tile.first[across] += tile.lines) {
      tile.lines = std::min(LineTile::most_lines, box.hi[across] - tile.first[across]);
      f(tile);
    }
}

}  // namespace sidestream::analysis
