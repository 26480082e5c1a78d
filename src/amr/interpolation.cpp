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
  const int half_x = axes[0] ? 1 : 0, half_y = axes[1] ? 1 : 0, half_z = axes[2] ? 1 : 0;
  const auto upper = [](int fine_index, int half) { return half != 0 && (fine_index & 1) == 0 ? -1.0 : 1.0; };
  for (int c = 0; c < fine.components(); ++c)
    core::for_each_cell(coarsened(region, axes), [=](int K, int J, int I) {
      const double at = coarse(c, K, J, I);
      const double x = half_x ? quarter_slope(coarse(c, K, J, I - 1), at, coarse(c, K, J, I + 1)) : 0.0;
      const double y = half_y ? quarter_slope(coarse(c, K, J - 1, I), at, coarse(c, K, J + 1, I)) : 0.0;
      const double z = half_z ? quarter_slope(coarse(c, K - 1, J, I), at, coarse(c, K + 1, J, I)) : 0.0;
      const mesh::Box children = intersection(region, refined({{I, J, K}, {I + 1, J + 1, K + 1}}, axes));
      for (int k = children.lo.z; k < children.hi.z; ++k)
        for (int j = children.lo.y; j < children.hi.y; ++j)
          for (int i = children.lo.x; i < children.hi.x; ++i)
            fine(c, k, j, i) =
                at + core::symmetric_sum(upper(i, half_x) * x, upper(j, half_y) * y, upper(k, half_z) * z);
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
