#include "amr/loehner_rows.hpp"

#include <cmath>

#include "sidestream/amr/criteria.hpp"
#include "sidestream/core/symmetric.hpp"

namespace sidestream::amr {

namespace {

[[gnu::always_inline]] inline double square(double x) {
  return x * x;
}

/// A derivative (times four cell sizes squared) and what it is compared with, both squared and weighted.
struct Curvature {
  double derivative, scale;
};

[[gnu::always_inline]] inline Curvature curvature_along(const double* u, const Stencil& stencil, std::size_t p) {
  const double below = u[-2 * stencil.step[p]], here = *u, above = u[2 * stencil.step[p]];
  const double ripples = (std::fabs(above) + std::fabs(below)) + 2.0 * std::fabs(here);
  const double scale = (std::fabs(above - here) + std::fabs(here - below)) + loehner_filter * ripples;
  const double weight = stencil.weight[p] * stencil.weight[p];
  return {square(weight * ((above + below) - 2.0 * here)), square(weight * scale)};
}

/// d^2u / dp dq, which stands for d^2u / dq dp as well.
[[gnu::always_inline]] inline Curvature mixed_curvature(const double* u, const Stencil& stencil, std::size_t p,
                                                        std::size_t q) {
  const std::ptrdiff_t up = stencil.step[p], uq = stencil.step[q];
  const double high_high = u[up + uq], low_low = u[-up - uq], high_low = u[up - uq], low_high = u[uq - up];
  const double ripples =
      loehner_filter * ((std::fabs(high_high) + std::fabs(low_low)) + (std::fabs(high_low) + std::fabs(low_high)));
  const double scale_p = (std::fabs(high_high - low_high) + std::fabs(high_low - low_low)) + ripples,
               scale_q = (std::fabs(high_high - high_low) + std::fabs(low_high - low_low)) + ripples;
  const double weight = stencil.weight[p] * stencil.weight[q];
  return {2.0 * square(weight * ((high_high + low_low) - (high_low + low_high))),
          square(weight * scale_p) + square(weight * scale_q)};
}

/// `is_flat_z`: the weight of z is zero, and what it multiplies need not be computed.
template <bool is_flat_z>
[[gnu::always_inline]] inline double loehner_error_at(const double* u, const Stencil& stencil) {
  const Curvature x = curvature_along(u, stencil, 0), y = curvature_along(u, stencil, 1),
                  xy = mixed_curvature(u, stencil, 0, 1);
  Curvature z{0.0, 0.0}, yz{0.0, 0.0}, zx{0.0, 0.0};
  if constexpr (!is_flat_z) {
    z = curvature_along(u, stencil, 2);
    yz = mixed_curvature(u, stencil, 1, 2);
    zx = mixed_curvature(u, stencil, 2, 0);
  }
  const double scale =
      core::symmetric_sum(x.scale, y.scale, z.scale) + core::symmetric_sum(xy.scale, yz.scale, zx.scale);
  const double square = core::symmetric_sum(x.derivative, y.derivative, z.derivative) +
                        core::symmetric_sum(xy.derivative, yz.derivative, zx.derivative);
  return scale > 0.0 ? std::sqrt(square / scale) : 0.0;
}

template <bool is_flat_z>
void errors_of_row(const double* u, const Stencil stencil, std::span<double> errors) {
  double* const error = errors.data();
  const auto cells = static_cast<std::ptrdiff_t>(errors.size());
#pragma GCC ivdep
  for (std::ptrdiff_t i = 0; i < cells; ++i) error[i] = loehner_error_at<is_flat_z>(u + i, stencil);
}

}  // namespace

void loehner_errors(const double* u, const Stencil& stencil, bool is_flat_z, std::span<double> errors) {
  if (is_flat_z)
    errors_of_row<true>(u, stencil, errors);
  else
    errors_of_row<false>(u, stencil, errors);
}

}  // namespace sidestream::amr
