#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "sidestream/analysis/vortices.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/solvers/incompressible_flow.hpp"
#include "sidestream/solvers/mode_transfer.hpp"

namespace sidestream::sims {

/// The grid of cells beside that of the modes, which hold the state.
inline constexpr const char* space_grid = "space";

/// The quantities of a flow with these scalars: of its modes, and in space. Values in space are those at the lower
/// corners of the cells.
std::vector<mesh::Quantity> mode_quantities(const std::vector<solvers::PassiveScalar>& scalars);
std::vector<mesh::Quantity> space_quantities(const std::vector<solvers::PassiveScalar>& scalars);
/// The names of the components of the state.
std::vector<std::string> component_names(const std::vector<solvers::PassiveScalar>& scalars);

/// Shows a flow as quantities of its modes and of the cells of blocks, made when somebody asks for them.
class FlowViews {
 public:
  FlowViews(const comm::Communicator& comm, const solvers::IncompressibleFlow& flow,
            const std::vector<solvers::PassiveScalar>& scalars, const mesh::Layout& blocks);

  /// Where the modes of a snapshot lie: the same on any number of ranks.
  const mesh::Layout& modes() const { return modes_; }
  /// Adds the modes to `snapshot`, and the grid `space_grid`. The flow does not change while they are asked for.
  void add_modes(mesh::Snapshot& snapshot) const;
  mesh::Snapshot in_space() const;

  /// A component of a spectrum on `flow.modes()` in space.
  mesh::Field<double> transformed(solvers::Spectrum& spectrum) const;

 private:
  mesh::Field<double> component_in_space(int component) const;
  mesh::Field<double> vorticity(int axis) const;
  using FromVelocity = decltype(&analysis::q_criterion);
  mesh::Field<double> of_velocity(FromVelocity compute) const;
  mesh::Field<double> pressure() const;
  std::vector<std::array<double, 3>> displacements() const;
  /// Adds d_i d_j u_i u_j, its sign reversed and times `weight`, of products on cells displaced `by` to `sum`.
  void add_advection(const std::array<double, 3>& by, double weight, solvers::Spectrum& sum) const;
  solvers::SpectralTransform& transform() const;
  solvers::Spectrum component(int component) const;

  const comm::Communicator& comm_;
  const solvers::IncompressibleFlow& flow_;
  const std::vector<solvers::PassiveScalar>& scalars_;
  mesh::Layout blocks_, modes_;
  mutable std::unique_ptr<solvers::SpectralTransform> transform_;  // made on first use
};

}  // namespace sidestream::sims
