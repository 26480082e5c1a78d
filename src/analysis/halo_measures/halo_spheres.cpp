#include <algorithm>
#include <numbers>

#include "analysis/halo_measures/halo_properties.hpp"
#include "analysis/halo_measures/spherical_overdensity.hpp"

#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

bool is_flat(const mesh::Box& domain) {
  const Int3 cells = domain.extent();
  return std::min({cells.x, cells.y, cells.z}) == 1;
}

// The radius that a halo of this mass would have if its mean were the density: its spheres are about as large.
SphereSeed seed_of(const Halo& halo, const HaloFrame& frame, double density) {
  constexpr double margin = 1.2;
  const Int3 corner = frame.cell_of(halo.id), bits = frame.bits(frame.level_of(corner));
  SphereSeed seed;
  double smallest = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    seed.center[static_cast<std::size_t>(axis)] = 2 * std::int64_t{corner[axis]} + (1 << bits[axis]);
    smallest = std::max(smallest, frame.finest().cell_size(axis) * (1 << bits[axis]));
  }
  const double radius = margin * core::cbrt(0.75 * std::numbers::inv_pi * std::max(halo.mass, 0.0) / density);
  seed.radius = std::max(radius, smallest);
  return seed;
}

}  // namespace

void set_spheres(const comm::Communicator& comm, const HaloFrame& frame, const std::vector<double>& densities,
                 std::span<Halo> halos) {
  if (densities.empty() || is_flat(frame.root().domain)) return;
  std::vector<SphereSeed> seeds;
  const double lowest = *std::min_element(densities.begin(), densities.end());
  for (const Halo& halo : halos) seeds.push_back(seed_of(halo, frame, lowest));
  const auto spheres = spherical_overdensities(comm, frame, seeds, densities);
  for (std::size_t h = 0; h < halos.size(); ++h) halos[h].spheres = spheres[h];
}

}  // namespace sidestream::analysis
