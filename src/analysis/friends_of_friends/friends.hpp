#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::analysis {

/// A position along x, y, z.
using Point = std::array<double, 3>;

/// Where points may be: [lower, lower + length] along each axis, without the upper end where that is periodic.
struct Extent {
  Point lower{}, length{};
  mesh::Periodicity periodic{};
};

/// By how much, relative to the linking length, a bound has to be clear of it to settle a question without looking at
/// the points: far above all rounding.
constexpr double linking_margin = 1e-6;

/// Whether points are at most the linking length apart.
class Friends {
 public:
  Friends(const Extent& extent, double linking_length) : squared_(linking_length * linking_length) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      period_[axis] = extent.periodic[axis] ? extent.length[axis] : std::numeric_limits<double>::infinity();
  }

  /// The one test that decides; the same for (b, a).
  bool are(const Point& a, const Point& b) const {
    const double x = distance(0, a, b), y = distance(1, a, b), z = distance(2, a, b);
    return x * x + y * y + z * z <= squared_;
  }

  /// Whether any of `a` is a friend of any of `b`. Far below the product of their numbers for large ones.
  bool any(std::span<const Point> a, std::span<const Point> b) const;

 private:
  struct Bounds {
    Point low, high;
  };
  static Bounds bounds_of(std::span<const Point> points);

  double distance(std::size_t axis, const Point& a, const Point& b) const {
    const double d = std::abs(a[axis] - b[axis]);
    return std::min(d, period_[axis] - d);
  }
  double least_squared(const Bounds& a, const Bounds& b) const;
  double most_squared(const Bounds& a, const Bounds& b) const;
  bool any_of_pairs(std::span<const Point> a, std::span<const Point> b) const;
  bool any_by_halves(std::span<Point> a, std::span<Point> b) const;

  Point period_{};  // infinite where space is not periodic
  double squared_;
};

}  // namespace sidestream::analysis
