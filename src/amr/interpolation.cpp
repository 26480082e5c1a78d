#include "sidestream/amr/interpolation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/symmetric.hpp"

namespace sidestream::amr {

namespace {

using core::View4;

/// A number for each of the eight children of a cell: (dz, dy, dx) is lane 4 dz + 2 dy + dx. On a flat axis there is
/// but the first one.
using Children [[gnu::vector_size(8 * sizeof(double))]] = double;

/// `core::symmetric_sum` in each lane, to the bit.
[[gnu::always_inline]] inline Children symmetric_sum(Children a, Children b, Children c) {
  const auto smaller = [](Children l, Children r) { return r < l ? r : l; };
  const auto larger = [](Children l, Children r) { return l < r ? r : l; };
  const Children first = (a + b) + c, second = (b + c) + a, third = (c + a) + b;
  return larger(smaller(first, second), smaller(larger(first, second), third));
}

/// A quarter of the monotonised central slope: by how much the children of a cell differ from it along an axis.
[[gnu::always_inline]] inline double quarter_slope(double below, double at, double above) {
  const double down = at - below, up = above - at;
  const double central = 0.25 * std::fabs(above - below) * 0.5;
  const double limit = 0.5 * std::min(std::fabs(down), std::fabs(up));
  return down * up > 0.0 ? std::copysign(std::min(central, limit), up) : 0.0;
}

}  // namespace

mesh::Int3 coarsened(mesh::Int3 fine, RefinedAxes axes) {
  for (int axis = 0; axis < 3; ++axis)
    if (axes[static_cast<std::size_t>(axis)]) fine[axis] >>= 1;
  return fine;
}

mesh::Box coarsened(const mesh::Box& fine, RefinedAxes axes) {
  mesh::Box coarse{coarsened(fine.lo, axes), fine.hi};
  for (int axis = 0; axis < 3; ++axis)
    if (axes[static_cast<std::size_t>(axis)]) coarse.hi[axis] = (fine.hi[axis] + 1) >> 1;
  return coarse;
}

mesh::Box refined(const mesh::Box& coarse, RefinedAxes axes) {
  mesh::Box fine = coarse;
  for (int axis = 0; axis < 3; ++axis)
    if (axes[static_cast<std::size_t>(axis)]) {
      fine.lo[axis] *= 2;
      fine.hi[axis] *= 2;
    }
  return fine;
}

// All children of a cell are computed at once; those at the edge of the region that lie beyond it are left out.
void interpolate_limited(View4<const double> coarse, View4<double> fine, const mesh::Box& region, RefinedAxes axes) {
  const std::array<int, 3> half{axes[0], axes[1], axes[2]};
  // By how many slopes each child is above its parent: one on a flat axis counts as a lower one.
  constexpr Children side_x{-1, 1, -1, 1, -1, 1, -1, 1}, side_y{-1, -1, 1, 1, -1, -1, 1, 1},
      side_z{-1, -1, -1, -1, 1, 1, 1, 1};
  const mesh::Box parents = coarsened(region, axes);
  const std::ptrdiff_t dx = half[0], dy = half[1] * coarse.stride_y(), dz = half[2] * coarse.stride_z();
  for (int c = 0; c < fine.components(); ++c)
    core::for_each_row(parents, [&](int K, int J) {
      const double* const row = &coarse(c, K, J, 0);
      const int first_k = K << half[2], first_j = J << half[1];
      const int begin_k = std::max(first_k, region.lo.z), end_k = std::min(first_k + half[2] + 1, region.hi.z);
      const int begin_j = std::max(first_j, region.lo.y), end_j = std::min(first_j + half[1] + 1, region.hi.y);
      for (int I = parents.lo.x; I < parents.hi.x; ++I) {
        // On a flat axis the neighbours are the cell itself: no slope.
        const double* const at = row + I;
        const double x = quarter_slope(*(at - dx), *at, *(at + dx)), y = quarter_slope(*(at - dy), *at, *(at + dy)),
                     z = quarter_slope(*(at - dz), *at, *(at + dz));
        const Children children = *at + symmetric_sum(side_x * x, side_y * y, side_z * z);
        alignas(sizeof children) std::array<double, 8> values;
        std::memcpy(values.data(), &children, sizeof children);
        const int first_i = I << half[0];
        const int begin_i = std::max(first_i, region.lo.x), end_i = std::min(first_i + half[0] + 1, region.hi.x);
        for (int k = begin_k; k < end_k; ++k)
          for (int j = begin_j; j < end_j; ++j) {
            const double* const pair = &values[static_cast<std::size_t>(4 * (k - first_k) + 2 * (j - first_j))];
            if (end_i - begin_i == 2)
              std::memcpy(&fine(c, k, j, begin_i), pair, 2 * sizeof(double));
            else
              fine(c, k, j, begin_i) = pair[begin_i - first_i];
          }
      }
    });
}

void inject(View4<const double> coarse, View4<double> fine, const mesh::Box& region, RefinedAxes axes) {
  const int x = axes[0] ? 1 : 0, y = axes[1] ? 1 : 0, z = axes[2] ? 1 : 0;
  for (int c = 0; c < fine.components(); ++c)
    core::for_each_cell(region, [=](int k, int j, int i) { fine(c, k, j, i) = coarse(c, k >> z, j >> y, i >> x); });
}

void average(View4<const double> fine, View4<double> coarse, const mesh::Box& region, RefinedAxes axes) {
  const int x = axes[0] ? 1 : 0, y = axes[1] ? 1 : 0, z = axes[2] ? 1 : 0;
  for (int c = 0; c < coarse.components(); ++c)
    core::for_each_row(region, [&](int K, int J) {
      const int first = region.lo.x << x;
      const double *low = &fine(c, K << z, J << y, first), *low_y = &fine(c, K << z, (J << y) + y, first),
                   *low_z = &fine(c, (K << z) + z, J << y, first), *high = &fine(c, (K << z) + z, (J << y) + y, first);
      double* const out = &coarse(c, K, J, region.lo.x);
      for (int n = 0; n < region.extent().x; ++n) {
        const int i = n << x;
        // Opposite corners first: exchanging or mirroring axes only permutes the four sums. On flat axes both corners
        // are the same cells, counted twice.
        out[n] = 0.125 * core::symmetric_sum(low[i] + high[i + x], low[i + x] + high[i], low_y[i] + low_z[i + x],
                                             low_z[i] + low_y[i + x]);
      }
    });
}

}  // namespace sidestream::amr
