#include "solvers/hydro/gas_rows.hpp"

#include <cmath>

#include "sidestream/solvers/gas_components.hpp"

namespace sidestream::solvers {

namespace {

/// `gx(i)`, `gy(i)`, `gz(i)`: the acceleration of a cell of the row.
template <typename X, typename Y, typename Z>
[[gnu::always_inline]] inline void kick_row_by(int cells, double factor, Rows gas, X gx, Y gy, Z gz) {
  const double* rho = gas[density];
  double *mx = gas[momentum_x], *my = gas[momentum_y], *mz = gas[momentum_z], *e = gas[total_energy];
#pragma GCC ivdep
  for (int i = 0; i < cells; ++i) {
    const double dx = factor * gx(i), dy = factor * gy(i), dz = factor * gz(i);
    // The change of rho u^2 / 2 is that of the momentum times the mean of old and new velocity.
    e[i] += symmetric_sum(dx * (mx[i] + 0.5 * (rho[i] * dx)), dy * (my[i] + 0.5 * (rho[i] * dy)),
                          dz * (mz[i] + 0.5 * (rho[i] * dz)));
    mx[i] += rho[i] * dx;
    my[i] += rho[i] * dy;
    mz[i] += rho[i] * dz;
  }
}

}  // namespace

inline namespace kernels {

void kick_row(int cells, double factor, const std::array<const double*, 3>& acceleration, Rows gas) {
  const auto [x, y, z] = acceleration;
  kick_row_by(
      cells, factor, gas, [x](int i) { return x[i]; }, [y](int i) { return y[i]; }, [z](int i) { return z[i]; });
}

void kick_row_by_potential(int cells, double factor, const double* phi, std::ptrdiff_t stride_y,
                           std::ptrdiff_t stride_z, const std::array<double, 3>& over_two_dx, Rows gas) {
  const double over_x = over_two_dx[0], over_y = over_two_dx[1], over_z = over_two_dx[2];
  kick_row_by(
      cells, factor, gas, [=](int i) { return (phi[i - 1] - phi[i + 1]) * over_x; },
      [=](int i) { return (phi[i - stride_y] - phi[i + stride_y]) * over_y; },
      [=](int i) { return (phi[i - stride_z] - phi[i + stride_z]) * over_z; });
}

void find_fastest(int cells, double square_factor, const std::array<double, 3>& over_dx, ConstRows gas,
                  core::LargestMagnitude& rate, core::LargestMagnitude& others) {
  const double *rho = gas[density], *mx = gas[momentum_x], *my = gas[momentum_y], *mz = gas[momentum_z],
               *e = gas[internal_energy], *total = gas[total_energy];
  const double over_x = over_dx[0], over_y = over_dx[1], over_z = over_dx[2];
  core::LargestMagnitude rate_here = rate, others_here = others;
  for (int i = 0; i < cells; ++i) {
    const double inverse = 1.0 / rho[i], c = std::sqrt(square_factor * e[i] * inverse);
    rate_here.add((std::fabs(mx[i]) * inverse + c) * over_x);
    rate_here.add((std::fabs(my[i]) * inverse + c) * over_y);
    rate_here.add((std::fabs(mz[i]) * inverse + c) * over_z);
    others_here.add(rho[i]);
    others_here.add(total[i]);
  }
  rate = rate_here;
  others = others_here;
}

}  // namespace kernels

}  // namespace sidestream::solvers
