#pragma once

#include "analysis/halo_measures/halo_parts.hpp"
#include "sidestream/analysis/halos.hpp"

namespace sidestream::analysis {

/// Throws core::Error for measures that cannot be taken on the levels of `field`.
void check(const HaloMeasures& measures, const LeafField& field);

/// The halo that a whole part makes, without its spheres.
Halo halo_of(const HaloPart& part, const HaloFrame& frame, double scale_factor);

/// Sets the spheres of the halos of this rank, whose ids are the cells of their peaks. None on a flat domain.
/// Collective.
void set_spheres(const comm::Communicator& comm, const HaloFrame& frame, const std::vector<double>& densities,
                 std::span<Halo> halos);

/// Sets `inside` of all halos, of which there are so many spheres each; see `Halo::inside`. O(halos) for spheres that
/// overlap few others.
void mark_inside(const mesh::Geometry& geometry, std::span<Halo> halos);
/// The same for halos of all ranks, whose peaks ascend along z on each rank and from one rank to the next. Collective;
/// halos go to the ranks whose peaks their spheres may hold, and so does whether they hold any, in as many rounds as
/// there are links in the longest chain of halos on different ranks that decide this for each other.
void mark_inside(const comm::Communicator& comm, const mesh::Geometry& geometry, std::span<Halo> halos);

}  // namespace sidestream::analysis
