#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::solvers {

/// How far the potential of a refined mesh is iterated.
struct RefinedGravityConfig {
  double tolerance = 1e-6;  ///< of the residual, relative to the source: sums of absolute values times volume
  int most_cycles = 20;     ///< after which a solve gives up and says so in `GravitySolve::residual`
};

/// What a solve took.
struct GravitySolve {
  int cycles = 0;
  double residual = 0.0;  ///< sum |density - mean - lap phi| V over sum |density - mean| V: misplaced mass over mass
};

/// Gravity on a refined mesh, all levels coupled both ways: lap phi = density - mean on a periodic root, lap phi =
/// density in empty space where no axis is periodic. Finite volumes on cell averages with the 7-point Laplacian; where
/// levels meet, one gradient serves both sides (`docs/concepts/gravity.md`). Lengths are those of the geometry; whoever
/// calls multiplies by 4 pi G a. Multigrid over the levels of refinement with an exact solve of the root by Fourier
/// transform. Bits depend on densities and blocks, not on the number of ranks.
///
/// All fields are on the hierarchy's layouts. Members that say so are collective. Memory: with blocks of 8^3 some 60
/// bytes a cell (16^3: 45), the root's transform, and with empty space around it some 350 bytes a cell of the root.
class RefinedGravity {
 public:
  /// Throws core::Error for a domain that is periodic on some axes only or flat, and for refined blocks at the boundary
  /// of a domain that is not periodic. Potentials are zero at first. Collective.
  RefinedGravity(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy,
                 const RefinedGravityConfig& config = {});
  /// For the mesh after `before`'s: starts from its potentials (interpolated on new blocks) and takes over its
  /// transform of the root, if that is dealt to the same ranks. Collective.
  RefinedGravity(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, RefinedGravity&& before);
  ~RefinedGravity();
  RefinedGravity(RefinedGravity&&) noexcept;
  RefinedGravity& operator=(RefinedGravity&&) noexcept;

  /// Takes `potentials[l]` (owned cells) for those at hand: a `solve` for the density that they were solved for then
  /// leaves them as they are, to the bit. For restarts. Local.
  void start_from(std::span<const mesh::Field<double>> potentials);

  /// All levels together, from the potentials at hand. `density[l]`: one component, owned cells; refined cells hold
  /// averages. Collective.
  GravitySolve solve(std::span<const mesh::Field<double>> density);

  /// For subcycling: remembers `potential(level)` as the older one of the level. Local.
  void keep(int level);
  /// `level` alone, at a time between its coarser level's older (`keep`) and present potential: the values around the
  /// level are (1 - weight) * older + weight * present. Level 0 is solved as a uniform grid. Starts from the present
  /// potential. On a periodic root the mean is that of the last `solve` or `solve_level` of level 0. Collective.
  GravitySolve solve_level(int level, const mesh::Field<double>& density, double weight);

  /// `level` and all finer ones together, at such a time. `density[l]` of a coarser level is not looked at. Collective.
  GravitySolve solve_from(int level, std::span<const mesh::Field<double>> density, double weight);
  /// The same where the finer levels are not there yet: their potentials are found but not kept; those at hand stay
  /// what they were. Collective.
  GravitySolve solve_ahead(int level, std::span<const mesh::Field<double>> density, double weight);

  /// The acceleration at such a time as it would be if `level` were the finest, of `density` on all of its blocks: into
  /// `g`, as `acceleration` does. Leaves the potentials as they are. `Coarse`: see there. Collective.
  struct Coarse {
    const mesh::Field<double>*older = nullptr, *newer = nullptr;
  };
  GravitySolve acceleration_as_finest(int level, const mesh::Field<double>& density, double weight,
                                      mesh::Field<double>& g, Coarse accelerations);

  /// One component with one layer of ghost cells; those behind faces are filled, where levels meet as well.
  const mesh::Field<double>& potential(int level) const;

  /// -grad phi by central differences into three components. Fills two layers of ghost cells: from the same level, and
  /// from the coarser level's acceleration, (1 - weight) * older + weight * newer, by linear interpolation (both may be
  /// one field; level 0 needs none). Ghost cells outside the domain are left as they were. Collective.
  void acceleration(int level, mesh::Field<double>& g, const mesh::Field<double>* coarse_older = nullptr,
                    const mesh::Field<double>* coarse_newer = nullptr, double weight = 1.0) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sidestream::solvers
