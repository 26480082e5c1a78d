#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace sidestream::solvers {

/// The natural cubic spline through the points (x, y), x ascending; at least two.
class CubicSpline {
 public:
  CubicSpline(std::vector<double> x, std::vector<double> y)
      : x_(std::move(x)), y_(std::move(y)), curvature_(x_.size()) {
    solve_for_curvature();
  }

  /// Within the points; beyond the ends, the outer pieces are continued.
  double operator()(double x) const {
    const auto above = std::upper_bound(x_.begin() + 1, x_.end() - 1, x) - x_.begin();
    const std::size_t n = static_cast<std::size_t>(above) - 1;
    const double width = x_[n + 1] - x_[n], b = (x - x_[n]) / width, a = 1.0 - b;
    return a * y_[n] + b * y_[n + 1] +
           ((a * a * a - a) * curvature_[n] + (b * b * b - b) * curvature_[n + 1]) * width * width / 6.0;
  }

 private:
  // The tridiagonal system for the second derivatives, by elimination.
  void solve_for_curvature() {
    std::vector<double> upper(x_.size());
    for (std::size_t n = 1; n + 1 < x_.size(); ++n) {
      const double left = x_[n] - x_[n - 1], right = x_[n + 1] - x_[n];
      const double jump = 6.0 * ((y_[n + 1] - y_[n]) / right - (y_[n] - y_[n - 1]) / left);
      const double pivot = 2.0 * (left + right) - left * upper[n - 1];
      upper[n] = right / pivot;
      curvature_[n] = (jump - left * curvature_[n - 1]) / pivot;
    }
    curvature_.back() = 0.0;
    for (std::size_t n = x_.size() - 1; n-- > 0;) curvature_[n] -= upper[n] * curvature_[n + 1];
  }

  std::vector<double> x_, y_, curvature_;
};

}  // namespace sidestream::solvers
