#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/mesh/any_field.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/solvers/lbm/lattice_kind.hpp"
#include "sidestream/solvers/lbm/velocity_gradient.hpp"

namespace sidestream::solvers {

/// What is beyond a face of the domain: its other side; a wall half a cell from the middle of the last cells; fluid
/// that comes in with a velocity at the middle of the first cells; fluid that goes on as it is, and may tend to a
/// density; or fluid of density 1 in equilibrium with a velocity, in the first cells.
enum class EdgeKind { periodic, wall, inflow, outflow, equilibrium };

struct LatticeEdge {
  EdgeKind kind = EdgeKind::periodic;
  std::array<double, 3> velocity{};  ///< of a wall, along itself; of what comes in
  bool is_parabolic = false;         ///< between walls: `velocity` is that in the middle
  std::optional<double> density{};   ///< that an outflow tends to
};

/// Lattice units: cells, steps, a mean density of 1.
struct LatticeConfig {
  CollisionKind collision = CollisionKind::trt;
  double viscosity = 0.0;
  double magic = 0.0;                               ///< (1/omega+ - 1/2)(1/omega- - 1/2) of two relaxation times
  std::array<double, 3> force{};                    ///< on a volume
  std::array<std::array<LatticeEdge, 2>, 3> edges;  ///< low and high, along x, y, z
};

/// The velocities and weights of a lattice: direction 2p + 2 is opposite to 2p + 1.
struct LatticeTable {
  std::vector<mesh::Int3> velocity;
  std::vector<double> weight;

  int directions() const { return static_cast<int>(weight.size()); }
};
const LatticeTable& table_of(LatticeKind lattice);
/// Of a domain: that of planes where it is flat along z.
LatticeKind lattice_of(const mesh::Box& domain);

/// Which of density and the velocity along x, y and z somebody wants; in a plane there is none along z.
using LatticeComponents = std::array<bool, 4>;

/// What a flow is like in a cell at the start.
struct LatticeCell {
  double density = 1.0;
  std::array<double, 3> velocity{};
  /// Of the velocity, by which populations differ from equilibrium: xx, yy, zz, xy, xz, yz.
  std::array<double, 6> strain{};
};

/// A flow by the lattice Boltzmann method (Krueger et al. 2017, The Lattice Boltzmann Method): populations as
/// collisions leave them, from which each step takes those that come to a cell, turns back what would come out of a
/// barrier (half-way bounce-back) and collides. The same bits on any layout. All members but plain accessors are
/// collective.
template <typename Real>
class LatticeFlow {
 public:
  /// `layout`: at most one box a rank; `comm` and `bill` outlive it. Begins at rest.
  LatticeFlow(const comm::Communicator& comm, const mesh::Layout& layout, const LatticeConfig& config,
              core::Bill& bill);
  ~LatticeFlow();

  LatticeKind lattice() const;
  const mesh::Layout& layout() const;
  /// What may change between two steps: all but the kinds of the edges. Local.
  void set(const LatticeConfig& config);

  /// Which barrier a cell belongs to, from 1 on; 0: it is fluid. On `layout()`.
  const mesh::Field<std::int32_t>& barriers() const;
  /// Takes them; what becomes solid is at rest, as is what becomes fluid.
  void set_barriers(const std::function<std::int32_t(mesh::Int3 cell)>& barrier);
  /// Fluid cells that are not held by an edge begin so.
  void set_flow(const std::function<LatticeCell(mesh::Int3 cell)>& flow);
  /// Populations as a collision leaves them, less their weights: one component each, on `layout()`. Local.
  mesh::FieldView<const Real> populations() const;
  mesh::FieldView<Real> populations();

  /// One step, which leaves `foreseen` for `measure`: at hand in a step, where a pass of its own reads all populations.
  void advance(const LatticeComponents& foreseen = {});

  /// Density and velocity, 1 and 0 in barriers: four components on `layout()`, of which those that are `wanted` are
  /// there, with a layer of ghost cells, which hold those of neighbours, of walls, or go on straight. The view keeps
  /// its memory; other components come into it when they are asked for before the next step.
  mesh::FieldView<const double> measure(const LatticeComponents& wanted) const;
  /// Writes what follows from central differences of a velocity that was measured here, all its components, to the
  /// cells of `box`, some of this rank's; 0 in barriers. Local.
  void differentiate(const mesh::FieldView<const double>& measured, OfGradient what, const mesh::Box& box,
                     const core::View4<double>& to) const;
  /// What the flow does to barriers 1 to `count` in a step, by the momentum that populations leave there, beside that
  /// of a fluid at rest (Ladd 1994, J. Fluid Mech. 271, 285). Sums are exact.
  std::vector<std::array<double, 3>> forces(int count) const;
  /// Total mass: an exact sum over fluid cells.
  double mass() const;
  /// What a pass through all cells here sees: one of which the density is not between 0.5 and 2 or no number, or which
  /// is faster than sound, in a sentence, empty where there is none; and the largest speed. Local.
  struct Look {
    std::string problem;
    double fastest = 0.0;
  };
  Look look() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sidestream::solvers
