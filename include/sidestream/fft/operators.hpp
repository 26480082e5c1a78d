#pragma once

#include <array>
#include <complex>
#include <numbers>

#include "sidestream/core/error.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/fft/modes.hpp"
#include "sidestream/mesh/field_view.hpp"

// What is a product with wave vectors in Fourier space. All of it is local: no rank talks to another. Spectra are views
// on the `spectral()` layout of a plan, compact ones too; norms do not matter but for `poisson`, which is linear as
// well. The wave vector of the shortest wave of an even axis, which has no sign, counts as zero along that axis where
// it comes in once (the derivative of a real field stays real).
namespace sidestream::fft {

/// The waves of a spectrum in space: `waves` and `cells` as the plan has them, the sides of the periodic box in any
/// unit of length.
struct WaveGrid {
  mesh::Int3 waves, cells;
  std::array<double, 3> length{1.0, 1.0, 1.0};

  double unit(int axis) const { return 2 * std::numbers::pi / length[static_cast<std::size_t>(axis)]; }
  /// The wave vector of the mode with this index, as derivatives take it.
  std::array<double, 3> derivative(mesh::Int3 index) const {
    std::array<double, 3> k{};
    for (int axis = 0; axis < 3; ++axis)
      if (2 * index[axis] != cells[axis] || waves[axis] != cells[axis])
        k[static_cast<std::size_t>(axis)] = unit(axis) * wavenumber(index[axis], waves[axis]);
    return k;
  }
  /// Its square, the shortest waves included.
  double squared(mesh::Int3 index) const {
    double sum = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      const double k = unit(axis) * wavenumber(index[axis], waves[axis]);
      sum += k * k;
    }
    return sum;
  }
};

/// The waves of a plan's spectra in a box with these sides.
template <typename Cell>
WaveGrid wave_grid(const FftPlan<Cell>& plan, const std::array<double, 3>& length) {
  return {plan.waves(), plan.cells(), length};
}

/// Calls `f(block, index)` for each mode of this rank, `block` being the view of its block.
template <typename Mode, typename F>
void for_each_index(const mesh::FieldView<Mode>& spectrum, F f) {
  for (int b = 0; b < spectrum.blocks(); ++b) {
    const mesh::Box& box = spectrum.box(b);
    for (std::int32_t k = box.lo.z; k < box.hi.z; ++k)
      for (std::int32_t j = box.lo.y; j < box.hi.y; ++j)
        for (std::int32_t i = box.lo.x; i < box.hi.x; ++i) f(b, mesh::Int3{i, j, k});
  }
}

namespace detail {

template <typename T>
std::complex<T> times_i(const std::complex<T>& a, double factor) {
  const T f = static_cast<T>(factor);
  return {-a.imag() * f, a.real() * f};
}
inline void require_components(int found, int wanted) {
  core::require(found == 0 || found == wanted, "a vector field has three components, a scalar field one");
}

}  // namespace detail

/// gradient = i k scalar.
template <typename T>
void gradient(const WaveGrid& grid, const mesh::FieldView<const std::complex<T>>& scalar,
              const mesh::FieldView<std::complex<T>>& result) {
  detail::require_components(result.blocks() == 0 ? 0 : result.components(), 3);
  for_each_index(scalar, [&](int b, mesh::Int3 at) {
    const auto k = grid.derivative(at);
    const std::complex<T> value = scalar.view(b)(at.z, at.y, at.x);
    for (int c = 0; c < 3; ++c)
      result.view(b)(c, at.z, at.y, at.x) = detail::times_i(value, k[static_cast<std::size_t>(c)]);
  });
}

/// divergence = i k . vector.
template <typename T>
void divergence(const WaveGrid& grid, const mesh::FieldView<const std::complex<T>>& vector,
                const mesh::FieldView<std::complex<T>>& result) {
  detail::require_components(vector.blocks() == 0 ? 0 : vector.components(), 3);
  for_each_index(vector, [&](int b, mesh::Int3 at) {
    const auto k = grid.derivative(at);
    std::complex<T> sum{};
    for (int c = 0; c < 3; ++c)
      sum += detail::times_i(vector.view(b)(c, at.z, at.y, at.x), k[static_cast<std::size_t>(c)]);
    result.view(b)(at.z, at.y, at.x) = sum;
  });
}

/// curl = i k x vector; the result may be `vector` itself.
template <typename T>
void curl(const WaveGrid& grid, const mesh::FieldView<const std::complex<T>>& vector,
          const mesh::FieldView<std::complex<T>>& result) {
  detail::require_components(vector.blocks() == 0 ? 0 : vector.components(), 3);
  for_each_index(vector, [&](int b, mesh::Int3 at) {
    const auto [kx, ky, kz] = grid.derivative(at);
    const auto v = [&](int c) { return vector.view(b)(c, at.z, at.y, at.x); };
    const std::complex<T> x = v(0), y = v(1), z = v(2);
    const auto to = result.view(b);
    to(0, at.z, at.y, at.x) = detail::times_i(z, ky) - detail::times_i(y, kz);
    to(1, at.z, at.y, at.x) = detail::times_i(x, kz) - detail::times_i(z, kx);
    to(2, at.z, at.y, at.x) = detail::times_i(y, kx) - detail::times_i(x, ky);
  });
}

/// Takes away the part of `vector` along k: what is left has no divergence. The mean stays.
template <typename T>
void project(const WaveGrid& grid, const mesh::FieldView<std::complex<T>>& vector) {
  detail::require_components(vector.blocks() == 0 ? 0 : vector.components(), 3);
  for_each_index(vector, [&](int b, mesh::Int3 at) {
    const auto k = grid.derivative(at);
    const double squared = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
    if (squared == 0.0) return;
    const auto to = vector.view(b);
    std::complex<T> along{};
    for (int c = 0; c < 3; ++c) along += static_cast<T>(k[static_cast<std::size_t>(c)]) * to(c, at.z, at.y, at.x);
    for (int c = 0; c < 3; ++c)
      to(c, at.z, at.y, at.x) -= static_cast<T>(k[static_cast<std::size_t>(c)] / squared) * along;
  });
}

/// Zeros for all modes whose wave vector is longer than `largest_k` (radians per unit of length).
template <typename T>
void low_pass(const WaveGrid& grid, double largest_k, const mesh::FieldView<std::complex<T>>& field) {
  for_each_index(field, [&](int b, mesh::Int3 at) {
    if (grid.squared(at) <= largest_k * largest_k) return;
    for (int c = 0; c < field.components(); ++c) field.view(b)(c, at.z, at.y, at.x) = {};
  });
}

/// The solution u of Laplace(u) = field, with mean zero, in place: -field / k^2. The mean of `field` is disregarded.
template <typename T>
void poisson(const WaveGrid& grid, const mesh::FieldView<std::complex<T>>& field) {
  for_each_index(field, [&](int b, mesh::Int3 at) {
    const double squared = grid.squared(at);
    const T factor = squared == 0.0 ? T{} : static_cast<T>(-1.0 / squared);
    for (int c = 0; c < field.components(); ++c) field.view(b)(c, at.z, at.y, at.x) *= factor;
  });
}

}  // namespace sidestream::fft
