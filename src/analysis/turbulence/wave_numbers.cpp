#include "analysis/turbulence/wave_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "analysis/at.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

using std::numbers::pi;

WaveNumbers::WaveNumbers(const mesh::Geometry& geometry) : cells_(geometry.domain.extent()) {
  double longest = 0.0;
  nyquist_ = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis)
    if (cells_[axis] > 1) {
      ++dimensions_;
      longest = std::max(longest, geometry.length[at(axis)]);
      nyquist_ = std::min(nyquist_, 2.0 * pi / geometry.length[at(axis)] * (cells_[axis] / 2));
    }
  core::require(longest > 0.0, "waves have an axis of more than one cell");
  fundamental_ = 2.0 * pi / longest;
  for (int axis = 0; axis < 3; ++axis)
    if (cells_[axis] > 1) scale_[at(axis)] = longest / geometry.length[at(axis)];
  shells_ = shell_of({cells_.x / 2, cells_.y / 2, cells_.z / 2}) + 1;
}

double WaveNumbers::in_fundamentals(mesh::Int3 wave) const {
  const double x = wave.x * scale_[0], y = wave.y * scale_[1], z = wave.z * scale_[2];
  return x * x + y * y + z * z;
}

std::int64_t WaveNumbers::shell_of(mesh::Int3 wave) const {
  return static_cast<std::int64_t>(std::floor(std::sqrt(in_fundamentals(wave)) + 0.5));
}

double WaveNumbers::squared(mesh::Int3 wave) const {
  return fundamental_ * fundamental_ * in_fundamentals(wave);
}

std::array<double, 3> WaveNumbers::derivative(mesh::Int3 wave) const {
  std::array<double, 3> k{};
  for (int axis = 0; axis < 3; ++axis)
    if (2 * wave[axis] != cells_[axis]) k[at(axis)] = fundamental_ * (wave[axis] * scale_[at(axis)]);
  return k;
}

}  // namespace sidestream::analysis
