#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::solvers {

/// Carries mass from particles to a mesh and forces back, by cloud-in-cell weights (each particle is a cube of the size
/// of a cell). Masses are added up as integers, so that the density is bitwise the same for any order of the particles
/// and any ranks, and no mass is lost: the eight shares of a particle are not negative and add up to its mass exactly.
/// Deposit and kick use the same shares.
///
/// The particles have to be on the rank that owns their cell (`redistribute::migrate`). Any order will do, but one that
/// follows the cells (`sort`) is several times faster.
class ParticleMesh {
 public:
  /// Collective on `comm`. `total_particles` is the number on all ranks; it sets the integer unit of mass. Holds an
  /// integer field of 8 bytes a cell.
  ParticleMesh(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Geometry& geometry,
               std::int64_t total_particles);

  /// Sets the owned cells of `density` (on the layout) to the comoving density of the particles [Msun/Mpc^3].
  /// Collective.
  void deposit(const mesh::Particles& particles, mesh::Field<double>& density);

  /// w += `factor` * g(x) for the momenta of all particles, where g is interpolated from the three components of
  /// `acceleration`, whose ghost cells (one layer or more) are filled. Local. Returns the largest |w_i| over axes i and
  /// particles of this rank after the kick.
  double kick(const mesh::Field<double>& acceleration, double factor, mesh::Particles& particles) const;

  /// Orders the particles by block and cell. Local. Results do not depend on it; call it every twenty steps or so.
  void sort(mesh::Particles& particles) const;

  /// Mass of a particle in units of the integer deposit: a power of two so small that all particles in one cell cannot
  /// overflow.
  std::int64_t mass_unit() const { return mass_unit_; }
  /// The integer deposit (unit: particle mass / `mass_unit()`) of the last call of `deposit`.
  const mesh::Field<std::int64_t>& integer_mass() const { return mass_; }

 private:
  // Where a block's cells lie in a field's storage: the cell (k, j, i) of component 0 is at origin + k * stride_z + j *
  // stride_y + i.
  struct Placement {
    std::int64_t origin, stride_y, stride_z, stride_component;
  };
  // Some particles: for each, its block, the first of the eight cells around it and its shares in them, in units of the
  // integer mass.
  struct Batch;
  using Pull = std::array<std::array<double, 64>, 3>;

  void index_blocks();
  void mark_block(int b);
  std::size_t piece(std::int32_t i, std::int32_t j, std::int32_t k) const {
    return static_cast<std::size_t>(slab_[0][static_cast<std::size_t>(i)] + slab_[1][static_cast<std::size_t>(j)] +
                                    slab_[2][static_cast<std::size_t>(k)]);
  }
  template <typename T>
  std::vector<Placement> placements(const mesh::Field<T>& field) const;
  void locate(const mesh::Particles& particles, std::size_t start, int count, Batch& batch) const;
  void locate_with_shares(const mesh::Particles& particles, std::size_t start, int count, Batch& batch) const;
  void deposit_locally(const mesh::Particles& particles);
  void add_shares(const Batch& batch, int count, const std::vector<Placement>& at);
  void convert_to_density(double particle_mass, mesh::Field<double>& density) const;
  static void gather(const mesh::Field<double>& acceleration, const std::vector<Placement>& at, const Batch& batch,
                     int count, Pull& pull);

  comm::Communicator comm_;
  mesh::Layout layout_;
  mesh::Geometry geometry_;
  std::int64_t mass_unit_;
  mesh::Field<std::int64_t> mass_;
  redistribute::GhostFold fold_;
  // The faces of this rank's blocks cut the domain into pieces: the piece of a cell is the sum of slab_[axis][cell]
  // over the axes, and block_of_[piece] the local block it is in, or -1.
  std::array<std::vector<std::int32_t>, 3> slab_;
  std::vector<std::int32_t> block_of_;
};

/// x += `dtau` * w for all particles; positions may leave the domain until the migration that follows. Local.
void drift(double dtau, mesh::Particles& particles);

/// The largest |w_i| over axes i and particles of this rank, as `ParticleMesh::kick` returns it; for the first step and
/// after a restart.
double largest_momentum(const mesh::Particles& particles);

/// The longest supercomoving time in which no particle moves by more than `fraction` of a cell, when the largest |w_i|
/// over all ranks is `largest`; infinite when nothing moves.
double longest_drift(const mesh::Geometry& geometry, double largest, double fraction);

}  // namespace sidestream::solvers
