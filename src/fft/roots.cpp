#include "fft/roots.hpp"

#include <cmath>
#include <numbers>

namespace sidestream::fft {

std::complex<double> root_of_unity(std::int64_t k, std::int64_t n) {
  k = (k % n + n) % n;
  if (2 * k > n) return std::conj(root_of_unity(n - k, n));
  if (4 * k > n) {  // the supplement of the angle
    const std::complex<double> root = root_of_unity(n - 2 * k, 2 * n);
    return {-root.real(), root.imag()};
  }
  if (8 * k > n) {  // the complement of the angle
    const std::complex<double> root = root_of_unity(n - 4 * k, 4 * n);
    return {-root.imag(), -root.real()};
  }
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(-std::sin(angle))};
}

}  // namespace sidestream::fft
