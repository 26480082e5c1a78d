#include "sidestream/solvers/spectral/wave_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace sidestream::solvers {

namespace {

// (n / N)^2 times 9 / 2: waves with a sum above 1 lie outside of the ellipsoid.
double share(int wave, int cells) {
  const double ratio = static_cast<double>(wave) / cells;
  return 4.5 * ratio * ratio;
}

int highest_of(int cells, Dealiasing dealiasing) {
  if (dealiasing == Dealiasing::two_thirds) return (cells - 1) / 3;
  int wave = 0;
  while (share(wave + 1, cells) <= 1.0) ++wave;
  return wave;
}

}  // namespace

WaveGrid::WaveGrid(const mesh::Geometry& geometry, Dealiasing dealiasing)
    : geometry_(geometry), dealiasing_(dealiasing) {
  for (int axis = 0; axis < 3; ++axis) highest_[axis] = highest_of(cells()[axis], dealiasing);
}

int WaveGrid::kept_along_x(int y, int z) const {
  if (std::abs(y) > highest_.y || std::abs(z) > highest_.z) return 0;
  if (dealiasing_ == Dealiasing::two_thirds) return highest_.x + 1;
  const mesh::Int3 n = cells();
  const double rest = share(y, n.y) + share(z, n.z);
  if (rest > 1.0) return 0;
  // A guess that is right but for rounding.
  int kept = std::min(static_cast<int>(std::sqrt((1.0 - rest) / 4.5) * n.x), highest_.x);
  while (kept > 0 && share(kept - 1, n.x) + rest > 1.0) --kept;
  while (kept <= highest_.x && share(kept, n.x) + rest <= 1.0) ++kept;
  return kept;
}

double WaveGrid::longest_fundamental() const {
  double least = fundamental(0);
  for (int axis = 1; axis < 3; ++axis)
    if (cells()[axis] > 1) least = std::min(least, fundamental(axis));
  return least;
}

std::string WaveGrid::problem_of(mesh::Int3 wave) const {
  for (int axis = 0; axis < 3; ++axis)
    if (std::abs(wave[axis]) > highest_[axis])
      return fmt::format("{} whole waves along {} are more than the {} that {} cells keep", std::abs(wave[axis]),
                         "xyz"[axis], highest_[axis], cells()[axis]);
  if (keeps({std::abs(wave.x), wave.y, wave.z})) return "";
  return fmt::format("the wave {}, {}, {} lies outside of the ellipsoid of those that are kept", wave.x, wave.y,
                     wave.z);
}

double WaveGrid::highest_wavenumber() const {
  double square = 0.0, longest_axis = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    const double k = fundamental(axis) * highest_[axis];
    square += k * k;
    // Of the ellipsoid: sqrt(2) / 3 of the cells, of which a wave along the axis may fall short.
    if (highest_[axis] > 0)
      longest_axis = std::max(longest_axis, fundamental(axis) * std::sqrt(2.0) / 3.0 * cells()[axis]);
  }
  return dealiasing_ == Dealiasing::two_thirds ? std::sqrt(square) : std::min(std::sqrt(square), longest_axis);
}

double WaveGrid::largest() const {
  double most = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis)
    if (cells()[axis] > 1) most = std::min(most, fundamental(axis) * highest_[axis]);
  return most;
}

}  // namespace sidestream::solvers
