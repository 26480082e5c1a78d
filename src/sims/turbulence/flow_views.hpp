#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidestream/analysis/vortices.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/solvers/spectral/incompressible_flow.hpp"
#include "sidestream/solvers/spectral/kept_waves.hpp"
#include "sidestream/solvers/spectral/mode_transfer.hpp"

namespace sidestream::sims {

/// The grid of cells beside that of the modes, which hold the state.
inline constexpr const char* space_grid = "space";
/// The state in other forms: the waves that are kept alone, one after another (`solvers::KeptWaves`); of these the two
/// components of the velocity that are not `solvers::dependent_axis`.
inline constexpr const char* kept_grid = "kept";
inline constexpr const char* two_components_grid = "two-components";
/// The names of these two, in the order of the axes.
inline constexpr std::array independent_components{"velocity_first", "velocity_second"};

/// What of the numbers of a state in such a form says how its waves lie.
inline constexpr std::array kept_cells{"kept_cells_x", "kept_cells_y", "kept_cells_z"};
inline constexpr const char* kept_phase_shift = "kept_phase_shift";  ///< how they were chosen: 0 or 1
inline constexpr const char* mean_velocity_z = "mean_velocity_z";    ///< beside two components

/// The quantities of a flow with these scalars: of its modes, and in space. Values in space are those at the lower
/// corners of the cells.
std::vector<mesh::Quantity> mode_quantities(const std::vector<solvers::PassiveScalar>& scalars);
std::vector<mesh::Quantity> two_component_quantities(const std::vector<solvers::PassiveScalar>& scalars);
std::vector<mesh::Quantity> space_quantities(const std::vector<solvers::PassiveScalar>& scalars);
/// The names of the components of the state.
std::vector<std::string> component_names(const std::vector<solvers::PassiveScalar>& scalars);

/// Shows a flow as quantities of its modes and of the cells of blocks, made when somebody asks for them, in the
/// precision of the flow.
template <typename Real>
class FlowViews {
 public:
  FlowViews(const comm::Communicator& comm, const solvers::IncompressibleFlow<Real>& flow,
            const std::vector<solvers::PassiveScalar>& scalars, const mesh::Layout& blocks);

  /// Where the modes of a snapshot lie: the same on any number of ranks.
  const mesh::Layout& modes() const { return modes_; }
  /// Adds the modes to `snapshot`. The flow does not change while they are asked for.
  void add_modes(mesh::Snapshot& snapshot) const;
  /// The grids beside them. Those of the state in another form have its numbers and more. Collective.
  mesh::Snapshot in_space() const;
  mesh::Snapshot kept(const std::map<std::string, double>& numbers) const;
  mesh::Snapshot two_components(std::map<std::string, double> numbers) const;

  /// A component of a spectrum on `flow.modes()` in space.
  mesh::Field<Real> transformed(solvers::Spectrum<Real>& spectrum) const;

 private:
  mesh::Field<Real> component_in_space(int component) const;
  mesh::Field<Real> vorticity(int axis) const;
  using FromVelocity = decltype(&analysis::q_criterion);
  mesh::Field<double> of_velocity(FromVelocity compute) const;
  mesh::Field<Real> pressure() const;
  std::vector<std::array<double, 3>> displacements() const;
  /// Adds d_i d_j u_i u_j, its sign reversed and times `weight`, of products on cells displaced `by` to `sum`.
  void add_advection(const std::array<double, 3>& by, double weight, solvers::Spectrum<Real>& sum) const;
  solvers::SpectralTransform<Real>& transform() const;
  solvers::Spectrum<Real> component(int component) const;
  solvers::Spectrum<Real> independent(int number) const;
  mesh::Snapshot in_rows(std::map<std::string, double> numbers) const;
  using Component = std::function<solvers::Spectrum<Real>(int component)>;  // on `flow_.modes()`
  using Place = std::function<solvers::Spectrum<Real>(const solvers::Spectrum<Real>& planes)>;
  void add_parts(const std::vector<mesh::Quantity>& parts, const Component& make, const Place& place,
                 mesh::Snapshot& snapshot) const;

  const comm::Communicator& comm_;
  const solvers::IncompressibleFlow<Real>& flow_;
  const std::vector<solvers::PassiveScalar>& scalars_;
  mesh::Layout blocks_, modes_;
  solvers::KeptWaves kept_;
  mutable std::unique_ptr<solvers::SpectralTransform<Real>> transform_;  // made on first use
};

}  // namespace sidestream::sims
