#include "solvers/spectral/mode_rows.hpp"

#include <algorithm>

#include "sidestream/core/math.hpp"

namespace sidestream::solvers {

namespace {

std::size_t place(std::int32_t index, std::int32_t lo) {
  return static_cast<std::size_t>(index - lo);
}

// `f(wavenumber)` of each index of `box` along each axis.
template <typename T, typename F>
std::array<std::vector<T>, 3> along_axes(const WaveGrid& grid, mesh::Int3 waves, const mesh::Box& box, F f) {
  std::array<std::vector<T>, 3> all;
  for (int axis = 0; axis < 3; ++axis)
    for (std::int32_t i = box.lo[axis]; i < box.hi[axis]; ++i)
      all[static_cast<std::size_t>(axis)].push_back(
          f(axis, grid.fundamental(axis) * (axis == 0 ? i : fft::wavenumber(i, waves[axis]))));
  return all;
}

}  // namespace

ModeRows::ModeRows(const WaveGrid& grid, mesh::Int3 waves, const mesh::Box& box)
    : grid_(&grid), waves_(waves), box_(box) {
  for (std::int32_t i = box.lo.x; i < box.hi.x; ++i) kx_.push_back(grid.fundamental(0) * i);
  ones_.assign(kx_.size(), 1.0);
  for (std::int32_t k = box.lo.z; k < box.hi.z; ++k)
    for (std::int32_t j = box.lo.y; j < box.hi.y; ++j) {
      const mesh::Int3 first = wave(k, j);
      kept_.push_back(std::clamp(grid.kept_along_x(first.y, first.z) - box.lo.x, 0, box.extent().x));
    }
}

mesh::Int3 ModeRows::wave(int k, int j) const {
  return {box_.lo.x, fft::wavenumber(j, waves_.y), fft::wavenumber(k, waves_.z)};
}

ModeRow ModeRows::row(int k, int j) const {
  const auto [kx, ky, kz] = grid_->wavenumber(wave(k, j));
  return {kept(k, j), kx_.data(), ky, kz, ones_.data(), 1.0};
}

Decay::Decay(const WaveGrid& grid, mesh::Int3 waves, const mesh::Box& box, double diffusivity, double time)
    : lo_(box.lo), factor_(along_axes<double>(grid, waves, box, [=](int, double k) {
        return core::exp(-diffusivity * (k * k) * time);
      })) {}

void Decay::apply_to(ModeRow& row, int k, int j) const {
  row.decay_x = factor_[0].data();
  row.decay_yz = factor_[1][place(j, lo_.y)] * factor_[2][place(k, lo_.z)];
}

Displacement::Displacement(const WaveGrid& grid, mesh::Int3 waves, const mesh::Box& box,
                           const std::array<double, 3>& by)
    : lo_(box.lo), phase_(along_axes<std::complex<double>>(grid, waves, box, [&](int axis, double k) {
        const double angle = k * by[static_cast<std::size_t>(axis)];
        return std::complex<double>(core::cos(angle), core::sin(angle));
      })) {}

template <typename Real>
void Displacement::apply(int modes, int k, int j, ComplexRow<Real> row) const {
  const std::complex<double> y = phase_[1][place(j, lo_.y)], z = phase_[2][place(k, lo_.z)];
  displace(modes, phase_[0].data(),
           {y.real() * z.real() - y.imag() * z.imag(), y.real() * z.imag() + y.imag() * z.real()}, row);
}
template void Displacement::apply<float>(int, int, int, ComplexRow<float>) const;
template void Displacement::apply<double>(int, int, int, ComplexRow<double>) const;

Displacement Displacement::reversed() const {
  Displacement back = *this;
  for (auto& axis : back.phase_)
    for (auto& phase : axis) phase = std::conj(phase);
  return back;
}

}  // namespace sidestream::solvers
