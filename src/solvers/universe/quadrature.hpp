#pragma once

#include <array>

namespace sidestream::solvers {

/// Gauss-Legendre quadrature with 16 points: exact for polynomials up to degree 31. (Abramowitz & Stegun, table 25.4)
template <typename F>
double gauss_legendre(double from, double to, F f) {
  constexpr std::array<double, 8> node{0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863,
                                       0.6178762444026437484, 0.7554044083550030339, 0.8656312023878317439,
                                       0.9445750230732325761, 0.9894009349916499326};
  constexpr std::array<double, 8> weight{0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382,
                                         0.1495959888165767321, 0.1246289712555338720, 0.0951585116824927848,
                                         0.0622535239386478929, 0.0271524594117540949};
  const double middle = 0.5 * (from + to), half = 0.5 * (to - from);
  double sum = 0.0;
  for (std::size_t n = 0; n < node.size(); ++n)
    sum += weight[n] * (f(middle - half * node[n]) + f(middle + half * node[n]));
  return half * sum;
}

/// The same over `panels` equal parts of the interval.
template <typename F>
double gauss_legendre(double from, double to, int panels, F f) {
  double sum = 0.0;
  for (int n = 0; n < panels; ++n)
    sum += gauss_legendre(from + (to - from) * n / panels, from + (to - from) * (n + 1) / panels, f);
  return sum;
}

}  // namespace sidestream::solvers
