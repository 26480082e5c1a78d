#pragma once

namespace sidestream::core {

/// Calls `f(k, j, i)` = `f(z, y, x)` for every cell of the half-open `box` (anything with `lo` and `hi` of x, y, z), x
/// fastest. The one loop over cells: `f` allocates nothing, throws nothing and takes its views by value.
template <typename Box, typename F>
inline void for_each_cell(const Box& box, F f) {
  for (int k = box.lo.z; k < box.hi.z; ++k)
    for (int j = box.lo.y; j < box.hi.y; ++j)
      for (int i = box.lo.x; i < box.hi.x; ++i) f(k, j, i);
}

/// Calls `f(k, j)` for every row of cells along x of the half-open `box`, for kernels that work on whole rows.
template <typename Box, typename F>
inline void for_each_row(const Box& box, F f) {
  for (int k = box.lo.z; k < box.hi.z; ++k)
    for (int j = box.lo.y; j < box.hi.y; ++j) f(k, j);
}

}  // namespace sidestream::core
