#include "solvers/gravity/lattice_green.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::solvers {

namespace {

// The potential is minus the integral over all times t of what heat leaves at a distance:
//   G(n) = - int dt prod_axis exp(-x) I_n(x),   x = 2 t / dx^2,
// I_n the modified Bessel functions. With t = exp(s) the trapezoidal rule converges exponentially: at this step the
// error is exp(-pi^2 / step) = 5e-15.
constexpr double step = 0.3;
// From t = (smallest dx)^2 exp(first) on; what is before is below 1e-13.
constexpr double first = -30.0;

// exp(-x) I_n(x) for n = 0 ... highest by Miller's backward recurrence, normalised by their sum over all integers, 1.
std::vector<double> recurred_bessel(double x, int highest) {
  const int start = highest + 20 + static_cast<int>(12.0 * std::sqrt(x));
  std::vector<double> values(static_cast<std::size_t>(highest) + 1);
  double above = 0.0, at = 1e-280, sum = 0.0;
  for (int n = start; n >= 0; --n) {
    if (n <= highest) values[static_cast<std::size_t>(n)] = at;
    sum += n > 0 ? 2.0 * at : at;
    const double below = above + 2.0 * n / x * at;
    above = std::exchange(at, below);
    if (at > 1e200) {
      for (double* number : {&above, &at, &sum}) *number *= 1e-250;
      for (double& value : values) value *= 1e-250;
    }
  }
  for (double& value : values) value /= sum;
  return values;
}

// The same for x far above highest^2: the asymptotic series in 1 / x (Abramowitz & Stegun 9.7.1).
std::vector<double> asymptotic_bessel(double x, int highest) {
  std::vector<double> values;
  for (int n = 0; n <= highest; ++n) {
    double term = 1.0 / std::sqrt(2.0 * std::numbers::pi * x), sum = term;
    for (int m = 1; m <= 6; ++m) {
      const double odd = 2.0 * m - 1.0;
      term *= -(4.0 * n * n - odd * odd) / (8.0 * x * m);
      sum += term;
    }
    values.push_back(sum);
  }
  return values;
}

std::vector<double> scaled_bessel(double x, int highest) {
  return x > 400.0 * highest * highest ? asymptotic_bessel(x, highest) : recurred_bessel(x, highest);
}

// The factors of one axis, [time][distance].
using Factors = std::vector<std::vector<double>>;

struct Times {
  std::vector<double> value, weight;
};

// After the last time the integrand falls as t^(-3/2), so the terms that are left out are a geometric series.
Times times_of(double smallest_dx, int cells) {
  const double last = 2.0 * core::log(3e4 * cells);
  Times times;
  for (double s = first; s < last; s += step) {
    times.value.push_back(smallest_dx * smallest_dx * core::exp(s));
    times.weight.push_back(step * times.value.back());
  }
  times.weight.back() /= 1.0 - core::exp(-0.5 * step);
  return times;
}

}  // namespace

void fill_with_lattice_green(const mesh::Geometry& geometry, mesh::Field<double>& green) {
  const mesh::Int3 cells = geometry.domain.hi;
  const std::array<double, 3> dx{geometry.cell_size(0), geometry.cell_size(1), geometry.cell_size(2)};
  const Times times = times_of(*std::ranges::min_element(dx), std::max({cells.x, cells.y, cells.z}));
  std::array<Factors, 3> factors;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    for (const double t : times.value) factors[a].push_back(scaled_bessel(2.0 * t / (dx[a] * dx[a]), cells[axis]));
  }
  std::vector<double> row(static_cast<std::size_t>(cells.x) + 1);
  for (int b = 0; b < green.blocks(); ++b) {
    const mesh::Box& box = green.box(b);
    const auto view = green.view(b);
    core::for_each_row(box, [&](int k, int j) {
      const auto z = static_cast<std::size_t>(std::min(k, 2 * cells.z - k));
      const auto y = static_cast<std::size_t>(std::min(j, 2 * cells.y - j));
      std::ranges::fill(row, 0.0);
      for (std::size_t t = 0; t < times.value.size(); ++t) {
        const double factor = -times.weight[t] * factors[2][t][z] * factors[1][t][y];
        const double* along_x = factors[0][t].data();
        for (std::size_t i = 0; i < row.size(); ++i) row[i] += factor * along_x[i];
      }
      for (int i = box.lo.x; i < box.hi.x; ++i)
        view(k, j, i) = row[static_cast<std::size_t>(std::min(i, 2 * cells.x - i))];
    });
  }
}

}  // namespace sidestream::solvers
