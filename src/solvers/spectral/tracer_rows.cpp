#include "solvers/spectral/tracer_rows.hpp"

#include <cmath>

namespace sidestream::solvers {

namespace {

// The nodes along an axis that a coordinate sees, and their weights.
struct Nodes {
  std::ptrdiff_t first = 0;
  int count = 0;
  std::array<double, 4> weights{};
  bool is_inside = true;
};

Nodes nodes_at(const SplineAxis& axis, double x) {
  if (axis.is_flat) return {0, 1, {1.0}, true};
  const double scaled = x * axis.cells_per_length, cell = std::floor(scaled);
  const double low = axis.lowest, high = axis.highest;
  const bool is_inside = cell >= low && cell <= high;
  const double held = is_inside ? cell : cell > high ? high : low;  // NaN: the lowest
  const double t = is_inside ? scaled - held : 0.0, s = 1.0 - t;
  const double below = s * s * s, above = t * t * t;
  return {
      static_cast<std::ptrdiff_t>(held) - 1,
      4,
      {below / 6.0, (4.0 - 6.0 * (t * t) + 3.0 * above) / 6.0, (4.0 - 6.0 * (s * s) + 3.0 * below) / 6.0, above / 6.0},
      is_inside};
}

// The sum over four nodes of a row, or the one of a flat axis.
template <typename Real>
double along_x(const Nodes& x, const Real* row) {
  if (x.count == 1) return row[0];
  return (x.weights[0] * row[0] + x.weights[1] * row[1]) + (x.weights[2] * row[2] + x.weights[3] * row[3]);
}

}  // namespace

inline namespace kernels {

template <typename Real>
bool interpolate_spline(const SplineBox<Real>& box, std::size_t count, const std::array<const double*, 3>& position,
                        const std::array<double*, 3>& value) {
  bool is_inside = true;
  for (std::size_t p = 0; p < count; ++p) {
    const Nodes x = nodes_at(box.axes[0], position[0][p]), y = nodes_at(box.axes[1], position[1][p]),
                z = nodes_at(box.axes[2], position[2][p]);
    is_inside = is_inside && x.is_inside && y.is_inside && z.is_inside;
    std::array<double, 3> sum{};
    for (int k = 0; k < z.count; ++k)
      for (int j = 0; j < y.count; ++j) {
        const Real* const row = box.origin + (z.first + k) * box.stride_z + (y.first + j) * box.stride_y + x.first;
        const double weight = z.weights[static_cast<std::size_t>(k)] * y.weights[static_cast<std::size_t>(j)];
        sum[0] += weight * along_x(x, row);
        sum[1] += weight * along_x(x, row + box.stride_component);
        sum[2] += weight * along_x(x, row + 2 * box.stride_component);
      }
    for (std::size_t c = 0; c < 3; ++c) value[c][p] = sum[c];
  }
  return is_inside;
}

template bool interpolate_spline<float>(const SplineBox<float>&, std::size_t, const std::array<const double*, 3>&,
                                        const std::array<double*, 3>&);
template bool interpolate_spline<double>(const SplineBox<double>&, std::size_t, const std::array<const double*, 3>&,
                                         const std::array<double*, 3>&);

}  // namespace kernels

}  // namespace sidestream::solvers
