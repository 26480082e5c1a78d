#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sidestream::solvers {

/// An axis of the box that holds the coefficients of a cubic spline.
struct SplineAxis {
  double cells_per_length = 0.0;
  std::int32_t lowest = 0, highest = 0;  ///< cells whose spline has all its coefficients in the box
  bool is_flat = false;                  ///< one cell: nothing changes along it
};

/// Coefficients of the three components of a vector: the one at (k, j, i) of component c is at `origin` + c *
/// stride_component + k * stride_z + j * stride_y + i.
template <typename Real>
struct SplineBox {
  const Real* origin = nullptr;
  std::ptrdiff_t stride_y = 0, stride_z = 0, stride_component = 0;
  std::array<SplineAxis, 3> axes;
};

// Loops over particles, for every instruction set.
inline namespace kernels {

/// The vector at each position: sum over the 4^3 nodes around it of coefficients times cubic B-splines (nodes at the
/// lower corners of cells). Returns whether all positions are in cells of the box; those that are not are taken to be
/// in the nearest one.
template <typename Real>
[[gnu::visibility("default")]] bool interpolate_spline(const SplineBox<Real>& box, std::size_t count,
                                                       const std::array<const double*, 3>& position,
                                                       const std::array<double*, 3>& value);

}  // namespace kernels

}  // namespace sidestream::solvers
