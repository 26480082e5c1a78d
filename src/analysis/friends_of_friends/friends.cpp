#include "analysis/friends_of_friends/friends.hpp"

#include <utility>
#include <vector>

namespace sidestream::analysis {

namespace {

constexpr std::size_t few_pairs = 256;  // so many are tested one by one

// The place in the middle of the widest axis of `points`: those of the lower half come first.
std::size_t halve(std::span<Point> points, std::size_t axis, double low, double high) {
  double middle = low + 0.5 * (high - low);
  if (middle >= high) middle = low;
  const auto upper =
      std::partition(points.begin(), points.end(), [=](const Point& point) { return point[axis] <= middle; });
  return static_cast<std::size_t>(upper - points.begin());
}

}  // namespace

Friends::Bounds Friends::bounds_of(std::span<const Point> points) {
  Bounds bounds{points.front(), points.front()};
  for (const Point& point : points)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      bounds.low[axis] = std::min(bounds.low[axis], point[axis]);
      bounds.high[axis] = std::max(bounds.high[axis], point[axis]);
    }
  return bounds;
}

// The square of a distance that no pair of points within the bounds is closer than.
double Friends::least_squared(const Bounds& a, const Bounds& b) const {
  double sum = 0.0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double direct = std::max({0.0, a.low[axis] - b.high[axis], b.low[axis] - a.high[axis]});
    const double span = std::max(a.high[axis] - b.low[axis], b.high[axis] - a.low[axis]);
    const double around = std::max(0.0, period_[axis] - span);
    const double gap = std::min(direct, around);
    sum += gap * gap;
  }
  return sum;
}

// The square of a distance that no pair of points within the bounds is further apart than.
double Friends::most_squared(const Bounds& a, const Bounds& b) const {
  double sum = 0.0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double span = std::max(a.high[axis] - b.low[axis], b.high[axis] - a.low[axis]);
    const double gap = std::max({0.0, a.low[axis] - b.high[axis], b.low[axis] - a.high[axis]});
    const double reach = std::min(span, period_[axis] - gap);
    sum += reach * reach;
  }
  return sum;
}

bool Friends::any_of_pairs(std::span<const Point> a, std::span<const Point> b) const {
  for (const Point& p : a)
    for (const Point& q : b)
      if (are(p, q)) return true;
  return false;
}

bool Friends::any_by_halves(std::span<Point> a, std::span<Point> b) const {
  if (a.size() * b.size() <= few_pairs) return any_of_pairs(a, b);
  Bounds of_a = bounds_of(a), of_b = bounds_of(b);
  if (least_squared(of_a, of_b) > squared_ * (1.0 + linking_margin)) return false;
  if (most_squared(of_a, of_b) < squared_ * (1.0 - linking_margin)) return true;

  const auto widest = [](const Bounds& bounds) {
    std::size_t axis = 0;
    for (const std::size_t other : {std::size_t{1}, std::size_t{2}})
      if (bounds.high[other] - bounds.low[other] > bounds.high[axis] - bounds.low[axis]) axis = other;
    return std::pair(bounds.high[axis] - bounds.low[axis], axis);
  };
  if (widest(of_a).first < widest(of_b).first) {
    std::swap(a, b);
    std::swap(of_a, of_b);
  }
  const auto [width, axis] = widest(of_a);
  if (!(width > 0.0)) return are(a.front(), b.front());  // all of each at one place
  const std::size_t lower = halve(a, axis, of_a.low[axis], of_a.high[axis]);
  return any_by_halves(a.first(lower), b) || any_by_halves(a.subspan(lower), b);
}

bool Friends::any(std::span<const Point> a, std::span<const Point> b) const {
  if (a.size() * b.size() <= few_pairs) return any_of_pairs(a, b);
  std::vector<Point> of_a(a.begin(), a.end()), of_b(b.begin(), b.end());
  return any_by_halves(of_a, of_b);
}

}  // namespace sidestream::analysis
