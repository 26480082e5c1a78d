#pragma once

#include "analysis/halo_parts.hpp"
#include "sidestream/analysis/halos.hpp"

namespace sidestream::analysis {

/// The halo that a whole part makes, without its spheres.
Halo halo_of(const HaloPart& part, const HaloFrame& frame, const HaloUnits& units, double scale_factor);

/// Sets `inside` of all halos, of which there are so many spheres each; see `Halo::inside`. O(halos) for spheres that
/// overlap few others.
void mark_inside(const mesh::Geometry& geometry, std::span<Halo> halos);

}  // namespace sidestream::analysis
