#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/halo_measures/halo_frame.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// Where to look for spheres of given mean density.
struct SphereSeed {
  std::array<std::int64_t, 3> center{};  ///< in halves of cells of the finest level
  double radius = 0.0;                   ///< of the first search, in the unit of the geometry
};

using Spheres = std::array<Sphere, HaloMeasures::most_spheres>;

/// For each seed of this rank, the smallest spheres in which the mean of the field falls to each of `densities`, as
/// `Halo::spheres` has them. Collective. Negative values of the field count as zero. The same bits for any layout.
///
/// Method: the cells around the centre, near ones divided into smaller cubes, are added up in shells of equal width by
/// the distance of their middles, mass and volume alike, in exact sums. The mean within a radius is the mass inside it
/// over the volume that was counted inside it, so that the graininess of the cells cancels to first order. Between two
/// shells the logarithm of the mean is linear in that of the volume; the sphere is the one with the volume where it
/// meets the density. Only ranks with cells in a sphere take part; each sends its shells to the rank of the seed. If
/// the mean in the whole search is still above the lowest density, the search grows by half.
std::vector<Spheres> spherical_overdensities(const comm::Communicator& comm, const HaloFrame& frame,
                                             std::span<const SphereSeed> seeds, std::span<const double> densities);

}  // namespace sidestream::analysis
