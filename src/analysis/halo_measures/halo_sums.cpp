#include "analysis/halo_measures/halo_sums.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

// Makes matrix[p][q] zero by a rotation in the plane of axes p and q (Golub & Van Loan, Matrix Computations, 8.5.2).
void rotate(Matrix& matrix, std::size_t p, std::size_t q) {
  if (matrix[p][q] == 0.0) return;
  const double half_cotangent = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
  const double t = std::copysign(1.0, half_cotangent) / (std::abs(half_cotangent) + core::hypot(1.0, half_cotangent));
  const double c = 1.0 / std::sqrt(1.0 + t * t), s = t * c;
  const std::size_t r = 3 - p - q;
  const double rp = matrix[r][p], rq = matrix[r][q];
  matrix[p][p] -= t * matrix[p][q];
  matrix[q][q] += t * matrix[p][q];
  matrix[p][q] = matrix[q][p] = 0.0;
  matrix[r][p] = matrix[p][r] = c * rp - s * rq;
  matrix[r][q] = matrix[q][r] = s * rp + c * rq;
}

}  // namespace

std::array<double, 3> semi_axes(const Tensor& tensor) {
  Matrix matrix{};
  for (std::size_t t = 0; t < 6; ++t) {
    const auto [a, b] = tensor_axes[t];
    matrix[a][b] = matrix[b][a] = tensor[t];
  }
  constexpr int sweeps = 10;  // each squares the error; four reach round-off
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    rotate(matrix, 0, 1);
    rotate(matrix, 0, 2);
    rotate(matrix, 1, 2);
  }
  std::array<double, 3> axes{};
  for (std::size_t a = 0; a < 3; ++a) axes[a] = std::sqrt(5.0 * std::max(matrix[a][a], 0.0));
  std::sort(axes.begin(), axes.end(), std::greater<>());
  return axes;
}

Body body_of(const MassSums& sums) {
  Body body;
  body.mass = sums.mass.value();
  if (body.mass == 0.0) return body;
  for (std::size_t a = 0; a < 3; ++a) body.center[a] = sums.moment[a].value() / body.mass;
  Tensor tensor{};
  for (std::size_t t = 0; t < 6; ++t) {
    const auto [a, b] = tensor_axes[t];
    tensor[t] = sums.second[t].value() / body.mass - body.center[a] * body.center[b];
  }
  body.axes = semi_axes(tensor);
  return body;
}

Motion motion_of(const MotionSums& sums) {
  Motion motion;
  motion.mass = sums.mass.value();
  if (motion.mass == 0.0) return motion;
  std::array<double, 3> center{};
  double square = sums.square.value() / motion.mass;
  for (std::size_t a = 0; a < 3; ++a) {
    center[a] = sums.moment[a].value() / motion.mass;
    motion.velocity[a] = sums.momentum[a].value() / motion.mass;
    square -= motion.velocity[a] * motion.velocity[a];
  }
  motion.dispersion = std::sqrt(std::max(square, 0.0) / 3.0);
  for (std::size_t a = 0; a < 3; ++a) {
    const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
    const double of_center = motion.mass * (center[b] * motion.velocity[c] - center[c] * motion.velocity[b]);
    motion.angular_momentum[a] = sums.angular_momentum[a].value() - of_center;
  }
  return motion;
}

}  // namespace sidestream::analysis
