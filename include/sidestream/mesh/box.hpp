#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace sidestream::mesh {

/// Three integers along x, y, z: a cell index, a shift or a count of cells.
struct Int3 {
  std::int32_t x = 0, y = 0, z = 0;

  std::int32_t operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  std::int32_t& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  std::int64_t product() const { return std::int64_t{x} * y * z; }

  friend Int3 operator+(Int3 a, Int3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Int3 operator-(Int3 a, Int3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend bool operator==(Int3, Int3) = default;
};

/// A half-open interval [lo, hi) of cell indices on one refinement level. Empty when `hi` is not above `lo` on some
/// axis.
struct Box {
  Int3 lo, hi;

  bool is_empty() const { return hi.x <= lo.x || hi.y <= lo.y || hi.z <= lo.z; }
  Int3 extent() const { return is_empty() ? Int3{} : hi - lo; }
  std::int64_t volume() const { return extent().product(); }
  bool contains(Int3 cell) const {
    return lo.x <= cell.x && cell.x < hi.x && lo.y <= cell.y && cell.y < hi.y && lo.z <= cell.z && cell.z < hi.z;
  }
  bool contains(const Box& other) const { return other.is_empty() || intersection(*this, other) == other; }
  Box grown(std::int32_t width) const { return grown({width, width, width}); }
  Box grown(Int3 width) const { return {lo - width, hi + width}; }
  Box shifted(Int3 by) const { return {lo + by, hi + by}; }

  friend Box intersection(const Box& a, const Box& b) {
    return {{std::max(a.lo.x, b.lo.x), std::max(a.lo.y, b.lo.y), std::max(a.lo.z, b.lo.z)},
            {std::min(a.hi.x, b.hi.x), std::min(a.hi.y, b.hi.y), std::min(a.hi.z, b.hi.z)}};
  }
  friend bool operator==(const Box&, const Box&) = default;
};

/// The box of all cells [0, cells).
inline Box domain_of(Int3 cells) {
  return {{0, 0, 0}, cells};
}

/// Position of `cell` in the order z, y, x (x fastest) of `box`: the global cell index when `box` is the domain.
inline std::int64_t linear_index(const Box& box, Int3 cell) {
  const Int3 extent = box.hi - box.lo, offset = cell - box.lo;
  return (std::int64_t{offset.z} * extent.y + offset.y) * extent.x + offset.x;
}

/// The remainder of `index` on a periodic axis of `cells` cells, in [0, cells).
inline std::int32_t wrapped(std::int32_t index, std::int32_t cells) {
  return ((index % cells) + cells) % cells;
}

/// "[0 0 0, 8 8 8)"
std::string to_string(const Box& box);

}  // namespace sidestream::mesh
