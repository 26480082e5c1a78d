#pragma once

#include <array>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/solvers/refined_gas.hpp"

namespace sidestream::sims {

/// Conserved gas state of a cell, in the order of solvers::GasComponent.
using GasCell = std::array<double, solvers::gas_components>;

/// A problem of gas dynamics: all but the mesh's refinement and the solver.
struct GasProblem {
  mesh::Geometry geometry;        ///< of level 0
  double end = 0.0;               ///< time at which the run ends
  bool is_closed = true;          ///< nothing crosses the boundary until the end: mass and energy are kept
  solvers::GasBoundary boundary;  ///< null where all axes are periodic
  double four_pi_g = 0.0;         ///< of the gravity of the gas on itself; 0: none

  /// The mean state of `cell` on the level of `level` at time 0; `finest` is the geometry of the finest level that the
  /// run may have. Levels agree: the mean of a cell's children is the cell's.
  std::function<GasCell(const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry& finest)> initial;

  /// Errors against an exact solution at the snapshot's time, for the last event of a run; null when there is none.
  /// The snapshot has `gas_density`, `pressure` and `velocity_x`, `_y`, `_z`. Collective.
  std::function<nlohmann::json(const comm::Communicator& comm, const mesh::Snapshot& snapshot)> measure;
};

/// A problem by name, which is that of its simulation and of its table of options.
struct GasProblemEntry {
  std::string name, documentation;
  solvers::HydroConfig standard;  ///< the defaults of `[hydro]` for this problem
  std::function<std::vector<core::Option>()> options;
  /// Reads the problem's table of the configuration `root` for level-0 `cells`; stores it with defaults filled in in
  /// `resolved`. Throws core::Error.
  std::function<GasProblem(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro,
                           core::Node& resolved)>
      read;
};

GasProblemEntry sod_problem();
GasProblemEntry sedov_problem();
GasProblemEntry double_mach_problem();
GasProblemEntry kelvin_helmholtz_problem();
GasProblemEntry vortex_problem();
GasProblemEntry hydrostatic_sphere_problem();
GasProblemEntry cold_clump_problem();

/// All problems there are.
const core::Registry<GasProblemEntry>& gas_problems();

}  // namespace sidestream::sims
