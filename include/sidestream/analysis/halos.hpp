#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sidestream/analysis/connectivity.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::analysis {

/// What counts as a halo: a connected component of the cells at or above `t_boundary` whose highest cell is at or above
/// `t_halo`. Cells of two levels are neighbours where the finer one has a neighbour, on its own grid, inside the
/// coarser one.
struct HaloCriteria {
  double t_boundary = 0.0, t_halo = 0.0;  ///< in the unit of the field
  Connectivity connectivity = Connectivity::freudenthal;
  std::int64_t min_cells = 1;
};

/// What to measure of halos beyond the cells of the field.
struct HaloMeasures {
  static constexpr std::size_t most_spheres = 4;

  /// Mean comoving densities, in the unit of the field, that enclose spheres around the peaks: at most `most_spheres`.
  std::vector<double> sphere_densities;

  /// Matter with velocities that is spread over cells, on the layouts of the field: its density, and its velocities
  /// along x, y, z [km/s]. Empty, or all four.
  LeafField moving_density;
  std::array<LeafField, 3> velocity;

  /// Particles of this rank, which may lie in cells of any other, or null on all ranks. Their masses are the attribute
  /// "mass" [Msun], or `Particles::mass`, times the attribute "mass_fraction" if there is one. Their velocities are the
  /// attributes "velocity_x" (y, z) [km/s], or "momentum_x" (y, z) [km/s] over the scale factor; without either they
  /// are counted and weighed alone.
  const mesh::Particles* particles = nullptr;

  double scale_factor = 1.0;
};

/// A sphere around a peak whose mean density is a given one, or zeros: see `Halo::spheres`.
struct Sphere {
  double radius = 0.0, mass = 0.0;  ///< comoving

  friend bool operator==(const Sphere&, const Sphere&) = default;
};

/// An iso-density halo. Positions are along x, y, z in the unit of the geometry (comoving Mpc), and wrapped into the
/// domain on periodic axes.
struct Halo {
  /// Linear index (z, y, x order) of the highest cell; of equal ones the smallest index. On a refined mesh in the grid
  /// of the finest level, of the cell at the lowest corner.
  std::int64_t id = 0;
  std::int64_t cells = 0;  ///< leaf cells, of any size
  double volume = 0.0;
  double mass = 0.0;  ///< sum of density times cell volume
  double peak = 0.0;  ///< density of the highest cell
  std::array<double, 3> peak_position{};
  std::array<double, 3> centroid{};  ///< mean position in its volume, each cell as its image nearest to the peak
  std::array<double, 3> center{};    ///< the same weighted by mass
  bool spans_box = false;            ///< reaches across half of a periodic axis or more, so its centroid is ambiguous
  /// Semi-axes, longest first, of the homogeneous ellipsoid with the tensor of inertia of its mass, each cell being
  /// filled evenly. Zero where there is no mass.
  std::array<double, 3> axes{};

  std::int64_t particles = 0;  ///< in its cells
  double particle_mass = 0.0;

  /// Of all matter with velocities in its cells, particles and `moving_density` together; zero where there is none.
  double moving_mass = 0.0;
  std::array<double, 3> velocity{};  ///< of the centre of that mass [km/s], proper and peculiar
  double velocity_dispersion = 0.0;  ///< sqrt(<|v - velocity|^2> / 3), weighted by mass [km/s]
  /// Sum of m r x v about the centre of that mass, with proper r [mass times Mpc km/s].
  std::array<double, 3> angular_momentum{};
  /// lambda' = j / (sqrt(2) V R) (Bullock et al. 2001, ApJ 555, 240, eq. 5) with j the angular momentum over the moving
  /// mass, R the proper radius of a sphere with the volume of the halo, and V = sqrt(G mass / R).
  double spin = 0.0;

  /// For each of `sphere_densities` the sphere around the centre of the highest cell. Zeros where that cell is less
  /// dense than that, or where the sphere would be wider than the box. On a flat domain always zeros.
  std::array<Sphere, HaloMeasures::most_spheres> spheres{};
  /// The id of the halo whose largest sphere holds the peak of this one, or -1. Halos are taken by descending peak
  /// (ascending id), and those that lie inside another one hold none.
  std::int64_t inside = -1;

  friend bool operator==(const Halo&, const Halo&) = default;
};

/// All halos of `field`, by descending mass and then ascending id, on rank 0 (empty elsewhere). `geometry` is that of
/// level 0. The same bits for any number of ranks, any layout, and any order of the particles. Collective. Throws
/// core::Error on all ranks when t_halo is below t_boundary, when one of them is not finite, and for positions, masses
/// or velocities in halos that are not finite. Values of the field must be finite. Cost: one pass over the field, one
/// over the particles; all else follows the cells above t_boundary, the surfaces of the blocks and the cells in
/// spheres. Messages: between ranks that hold parts of one halo or sphere.
std::vector<Halo> find_halos(const comm::Communicator& comm, const LeafField& field, const mesh::Geometry& geometry,
                             const HaloCriteria& criteria, const HaloMeasures& measures = {});
/// The same of the field of a tree, which is not built again: the connectivity is that of the tree, which is not cut
/// off before t_boundary. Of a tree of sets below, its voids: t_halo is at most t_boundary, and `peak` the lowest
/// value.
std::vector<Halo> find_halos(const comm::Communicator& comm, const MergeTree& tree, const mesh::Geometry& geometry,
                             const HaloCriteria& criteria, const HaloMeasures& measures = {});
/// The same for a field of one level, which covers the domain.
std::vector<Halo> find_halos(const comm::Communicator& comm, const ScalarView& field, const mesh::Geometry& geometry,
                             const HaloCriteria& criteria);

/// For each cell the id of the halo it belongs to, or -1: one field a level. Collective.
std::vector<mesh::Field<std::int64_t>> halo_membership(const comm::Communicator& comm, const LeafField& field,
                                                       const HaloCriteria& criteria);

}  // namespace sidestream::analysis
