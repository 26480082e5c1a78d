#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/memory.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/redistribute/owned_cells.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::solvers {

/// The attribute of particles that are not all alike: the mass of each over `Particles::mass`, at most 1.
inline const std::string mass_fraction_name = "mass_fraction";
bool has_mass_fractions(const mesh::Particles& particles);

struct ParticleBatch;
struct ParticlePlacement;

/// Carries mass from particles to a mesh and forces back, by cloud-in-cell weights (each particle is a cube of the size
/// of a cell). Masses are added up as integers, so that the density is bitwise the same for any order of the particles
/// and any ranks, and no mass is lost: the eight shares of a particle are not negative and add up to its mass exactly.
/// Deposit and kick use the same shares.
///
/// Range: the unit of these integers is 2^-48 of `Particles::mass`, or as much larger as the sum over all particles
/// takes to stay below 2^62: 2^-34 for 512^3 of them. A particle is worth 4096 units at least, so that its shares are
/// right to that part of it; one that is lighter, or heavier than `Particles::mass`, is an error of the deposit.
///
/// The particles have to be where `redistribute::migrate` takes them: on the rank that owns their cell. Any order will
/// do, but one that follows the cells (`sort`) is several times faster.
///
/// The layout may be a level of a refined mesh that does not cover the domain; `RefinedParticleMesh` joins the levels.
class ParticleMesh {
 public:
  /// Collective on `comm`. `total_particles` is the number on all ranks; it sets the integer unit of mass. `reach` (0
  /// or 1): how many cells outside the boxes of the layout particles may be; fields have that many more layers of ghost
  /// cells. Its integer field of 8 bytes a cell is kept in `room`, which it may share with others: none if it is null.
  ParticleMesh(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Geometry& geometry,
               std::int64_t total_particles, std::int32_t reach = 0, std::shared_ptr<core::Workroom> room = nullptr);

  /// Sets the owned cells of `density` (on the layout) to the comoving density of the particles [Msun/Mpc^3].
  /// Collective.
  void deposit(const mesh::Particles& particles, mesh::Field<double>& density);

  /// The first half of `deposit`: sets `integer_mass()`, with the particles at x + `ahead` * w (a particle that is
  /// further out of its block than one cell there counts as one cell out of it). Ghost cells keep what was left in
  /// them. Collective.
  void deposit_mass(const mesh::Particles& particles, double ahead = 0.0);
  /// The second half: sets the owned cells of `density` from `integer_mass()`. Local.
  void convert_to_density(double particle_mass, mesh::Field<double>& density) const;

  /// w += `factor` * g(x) for the momenta of all particles. g is interpolated from cells: they have the three
  /// components of `acceleration`, whose ghost cells (1 + `reach` layers or more) are filled, or, where that has one
  /// component, the central differences of this potential, which takes one more layer (`Gravity`; the bits are the
  /// same). Then x += `drift` * w; positions may leave the domain until the migration that follows. Local. Returns the
  /// largest |w_i| over axes i and particles of this rank after the kick.
  double kick(const mesh::Field<double>& acceleration, double factor, mesh::Particles& particles,
              double drift = 0.0) const;

  /// Orders the particles by block and cell. Local. Results do not depend on it; call it every twenty steps or so.
  /// Takes a bit for each particle beside what the integer deposit takes, which is lost.
  void sort(mesh::Particles& particles);

  /// Mass of a particle in units of the integer deposit: a power of two so small that all particles in one cell cannot
  /// overflow.
  std::int64_t mass_unit() const { return mass_unit_; }
  /// Layers of ghost cells of the integer deposit.
  std::int32_t ghost() const { return 1 + reach_; }
  /// The integer deposit (unit: particle mass / `mass_unit()`) of the last call of `deposit`, until a sort or whoever
  /// else uses the room.
  const mesh::Field<std::int64_t>& integer_mass() const { return mass_; }
  mesh::Field<std::int64_t>& integer_mass() { return mass_; }

 private:
  mesh::Field<std::int64_t> field_in_room() const;
  template <typename T>
  std::vector<ParticlePlacement> placements(const mesh::Field<T>& field) const;
  void locate(const mesh::Particles& particles, std::size_t start, int count, ParticleBatch& batch) const;
  void locate_beyond_edges(int count, ParticleBatch& batch) const;
  void displace(const mesh::Particles& particles, std::size_t start, int count, double ahead,
                ParticleBatch& batch) const;
  void deposit_locally(const mesh::Particles& particles, double ahead);
  std::span<const std::uint32_t> order_of_cells(const mesh::Particles& particles);
  template <typename F>
  void for_each_place(const mesh::Particles& particles, F f) const;

  comm::Communicator comm_;
  mesh::Layout layout_;
  mesh::Geometry geometry_;
  std::int64_t mass_unit_;
  std::int32_t reach_;
  std::shared_ptr<core::Workroom> room_;
  mesh::Field<std::int64_t> mass_;  // in the room
  redistribute::GhostFold fold_;
  redistribute::OwnedCells own_;
};

/// The largest |w_i| over axes i and particles of this rank, as `ParticleMesh::kick` returns it; for the first step and
/// after a restart.
double largest_momentum(const mesh::Particles& particles);

/// The longest supercomoving time in which no particle moves by more than `fraction` of a cell, when the largest |w_i|
/// over all ranks is `largest`; infinite when nothing moves.
double longest_drift(const mesh::Geometry& geometry, double largest, double fraction);

}  // namespace sidestream::solvers
