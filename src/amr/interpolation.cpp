#include "sidestream/amr/interpolation.hpp"

#include <algorithm>
#include <cmath>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/symmetric.hpp"

namespace sidestream::amr {

namespace {

using core::View4;

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

void interpolate_limited(View4<const double> coarse, View4<double> fine, const mesh::Box& region, RefinedAxes axes) {
  const std::array<int, 3> half{axes[0], axes[1], axes[2]};
  // The children along an axis of a coarse cell that lie in the region, and by how many slopes each is above its
  // parent.
  const auto first = [=, &region](int axis, int at) {
    return std::max(at << half[static_cast<std::size_t>(axis)], region.lo[axis]);
  };
  const auto last = [=, &region](int axis, int at) {
    const int h = half[static_cast<std::size_t>(axis)];
    return std::min((at << h) + h, region.hi[axis] - 1);
  };
  const auto side = [](int child) { return 2.0 * (child & 1) - 1.0; };
  const mesh::Box parents = coarsened(region, axes);
  const std::ptrdiff_t dx = half[0], dy = half[1] * coarse.stride_y(), dz = half[2] * coarse.stride_z();
  for (int c = 0; c < fine.components(); ++c)
    core::for_each_row(parents, [&](int K, int J) {
      const double* const row = &coarse(c, K, J, 0);
      const int first_k = first(2, K), last_k = last(2, K), first_j = first(1, J), last_j = last(1, J);
      for (int I = parents.lo.x; I < parents.hi.x; ++I) {
        // On a flat axis the neighbours are the cell itself: no slope.
        const double* const at = row + I;
        const double x = quarter_slope(*(at - dx), *at, *(at + dx)), y = quarter_slope(*(at - dy), *at, *(at + dy)),
                     z = quarter_slope(*(at - dz), *at, *(at + dz));
        const int first_i = first(0, I), last_i = last(0, I);
        for (int k = first_k; k <= last_k; ++k)
          for (int j = first_j; j <= last_j; ++j)
            for (int i = first_i; i <= last_i; ++i)
              fine(c, k, j, i) = *at + core::symmetric_sum(side(i) * x, side(j) * y, side(k) * z);
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
    core::for_each_cell(region, [=](int K, int J, int I) {
      const int k = K << z, j = J << y, i = I << x;
      // Opposite corners first: exchanging or mirroring axes only permutes the four sums. On flat axes both corners
      // are the same cells, counted twice.
      const double a = fine(c, k, j, i) + fine(c, k + z, j + y, i + x);
      const double b = fine(c, k, j, i + x) + fine(c, k + z, j + y, i);
      const double d = fine(c, k, j + y, i) + fine(c, k + z, j, i + x);
      const double e = fine(c, k + z, j, i) + fine(c, k, j + y, i + x);
      coarse(c, K, J, I) = 0.125 * core::symmetric_sum(a, b, d, e);
    });
}

}  // namespace sidestream::amr
