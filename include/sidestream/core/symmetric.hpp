#pragma once

#include <algorithm>

namespace sidestream::core {

/// The sum of three numbers in an order that does not depend on the order of the arguments (the median of the three
/// possible roundings), and that changes sign with them. It keeps problems symmetric under exchange of axes.
[[gnu::always_inline]] inline double symmetric_sum(double a, double b, double c) {
  const double first = (a + b) + c, second = (b + c) + a, third = (c + a) + b;
  return std::max(std::min(first, second), std::min(std::max(first, second), third));
}

/// The same of four numbers: smallest and largest first.
[[gnu::always_inline]] inline double symmetric_sum(double a, double b, double c, double d) {
  const double low_ab = std::min(a, b), high_ab = std::max(a, b), low_cd = std::min(c, d), high_cd = std::max(c, d);
  const double least = std::min(low_ab, low_cd), most = std::max(high_ab, high_cd);
  return (least + most) + (std::max(low_ab, low_cd) + std::min(high_ab, high_cd));
}

}  // namespace sidestream::core
