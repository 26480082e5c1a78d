#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/particle_mesh.hpp"

namespace sidestream::solvers {

/// A particle belongs to the finest level that holds its cell and all cells so far away from it (the `margin` of
/// `redistribute::migrate_levels`): where levels meet nearer than two and a half coarse cells, it would pull itself
/// (docs/concepts/gravity.md).
inline constexpr std::int32_t cloud_margin = 5;

/// Carries mass from particles to a refined mesh and forces back. Each particle belongs to a level whose blocks hold
/// it, as a rule that which `cloud_margin` gives, and is a cube of the size of that level's cells. What its cube shares
/// with coarser leaves goes to the coarse cells that hold it, what it shares with refined blocks goes down to their
/// children in equal parts; all of it as integers, as `ParticleMesh` does, which is what a mesh of one level comes down
/// to: the same bits for any order of the particles and any ranks, and no mass lost.
///
/// While a level is between two steps of the coarser one, a particle keeps its level, though it may have left the
/// level's blocks by about a cell (`redistribute::migrate`; one that is further out counts as one cell out). Boundaries
/// are periodic; blocks have at least four cells a side.
class RefinedParticleMesh {
 public:
  /// Collective on `comm`. `total_particles` is the number on all ranks and levels. Holds an integer field of 8 bytes a
  /// cell on each level, that of level 0 in `room`.
  RefinedParticleMesh(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, std::int64_t total_particles,
                      const std::shared_ptr<core::Workroom>& room = nullptr);

  /// Sets the owned cells of `density`, on all blocks of the levels from `from_level` up, to the comoving density of
  /// the particles [Msun/Mpc^3]; a refined cell holds the mass of its children. The particles of level l (all of one
  /// mass) count at x + `ahead[l]` * w. Particles of levels below `from_level` - 1 are not looked at: they do not reach
  /// so high. Collective.
  void deposit(std::span<const mesh::Particles> levels, std::span<const double> ahead,
               std::span<mesh::Field<double>> density, int from_level = 0);

  /// w += `factor` * g(x), then x += `drift` * w for the particles of a level: `ParticleMesh::kick` with the
  /// acceleration on that level's layout, and `ghost()` layers of its ghost cells filled. Local. Returns the largest
  /// |w_i| of this rank.
  double kick(int level, const mesh::Field<double>& acceleration, double factor, mesh::Particles& particles,
              double drift = 0.0) const {
    return levels_[static_cast<std::size_t>(level)].kick(acceleration, factor, particles, drift);
  }
  /// Orders the particles of a level by block and cell: `ParticleMesh::sort`. Local.
  void sort(int level, mesh::Particles& particles) { levels_[static_cast<std::size_t>(level)].sort(particles); }

  /// Layers of ghost cells that `kick` reads: one on a mesh of one level, two otherwise.
  std::int32_t ghost() const { return levels_.front().ghost(); }
  /// See `ParticleMesh`.
  std::int64_t mass_unit() const { return levels_.front().mass_unit(); }
  const mesh::Field<std::int64_t>& integer_mass(int level) const {
    return levels_[static_cast<std::size_t>(level)].integer_mass();
  }

 private:
  using Mass = mesh::Field<std::int64_t>;

  // Between a level and the next finer one, by way of the fine blocks' outlines on the coarse level.
  struct Exchange {
    struct Beyond {
      int block;        // of the fine level on this rank
      mesh::Box cells;  // coarse ones beside it that no block of the fine level covers
    };
    mesh::Layout outlines;
    redistribute::Redistribution down, up;  // `up` takes the cells around the outlines along
    std::vector<Beyond> beyond;
    std::vector<int> refined;  // the coarse blocks of this rank that have children
  };
  static Exchange make_exchange(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, int coarse_level);
  void hand_down(const Exchange& exchange, Mass& coarse, Mass& fine) const;
  void hand_up(const Exchange& exchange, const Mass& fine, Mass& coarse) const;

  int rank_;
  std::vector<ParticleMesh> levels_;
  std::vector<Exchange> exchanges_;
};

}  // namespace sidestream::solvers
