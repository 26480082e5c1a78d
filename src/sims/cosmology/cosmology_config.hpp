#pragma once

#include <map>
#include <optional>
#include <string>

#include "sidestream/core/config.hpp"
#include "sidestream/solvers/cosmology_parameters.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "sidestream/solvers/heating_cooling.hpp"
#include "sidestream/solvers/hydro.hpp"
#include "sidestream/solvers/initial_conditions.hpp"
#include "sims/config/amr_config.hpp"
#include "sims/config/mesh_config.hpp"
#include "sims/gas/gas_quantities.hpp"

namespace sidestream::sims {

/// The box and the span of a cosmological simulation, and what limits its steps: keys of `[cosmology]`.
struct CosmologyRun {
  double box_mpc = 0.0;  ///< comoving side along x; cells are cubes
  double z_start = 50.0, z_end = 0.0;
  double largest_expansion = 0.02;          ///< of the scale factor in a step, relative
  double particle_cfl = 0.4;                ///< cells that the fastest particle may cross in a step
  double step_growth = 1.3;                 ///< of the supercomoving step from one to the next, uncut
  double molecular_weight = 1.2195;         ///< mean, in proton masses: neutral primordial gas
  std::optional<double> temperature_start;  ///< of gas at the mean density [K]; none: that of the time
  std::string initial_file;                 ///< with the initial conditions; empty: a random field
};

/// Everything that the cosmological simulation reads.
struct CosmologyConfig {
  MeshConfig mesh;
  AmrConfig amr;
  CosmologyRun run;
  solvers::CosmologyParameters parameters;
  solvers::InitialConditionsConfig initial;
  solvers::GravityConfig gravity;
  solvers::HydroConfig hydro;
  double temperature_floor = 0.0;  ///< gas is never colder [K]
  std::optional<solvers::HeatingConfig> heating;
  std::string uv_digest;  ///< of the table of its background
  bool has_gas = true;

  mesh::Geometry geometry() const;
  mesh::Int3 particle_lattice() const;
  /// Comoving, zero without gas [Msun/Mpc^3].
  double gas_mean_density() const { return has_gas ? parameters.baryon_density() : 0.0; }
  /// Temperature [K] of gas at the mean density at the start.
  double start_temperature() const;
  /// Temperature [K] of gas of supercomoving specific internal energy 1 at the scale factor `a`.
  double temperature_factor(double a) const;
  /// Of the supercomoving state at the scale factor `a`.
  GasUnits gas_units(double a) const;
  /// Memory of a cell of the mesh, without particles.
  double bytes_per_cell() const;
};

/// Reads `[mesh]`, `[amr]`, `[refine]`, `[cosmology]`, `[gravity]` and, with gas, `[hydro]` and `[heating]`. Throws
/// core::Error.
CosmologyConfig read_cosmology(const core::Node& root, bool has_gas, core::Node& resolved);

/// Adds the box, the parameters of the universe and what heats its gas to what a moment, and so a result, tells.
void tell_universe(const CosmologyConfig& config, mesh::Moment& moment);
/// Numbers of a file and of the configuration are the same when they differ by no more than a few roundings of single
/// precision.
inline constexpr double largest_difference_in_file = 1e-6;
/// Cells that particles may cross in a step on a refined mesh.
inline constexpr double largest_refined_particle_cfl = 0.4;
/// How what a run depends on tells of its box.
inline const std::string box_key = "cosmology.box";
std::string words_of_box(double box_mpc);
/// What its steps depend on, by key (see `SimulationPlan::physics`).
std::map<std::string, std::string> physics_of(const CosmologyConfig& config);

/// Throws core::Error when the floor of the temperature is above the temperature that the gas begins with, where it
/// brings none of its own.
void check_floor(const CosmologyConfig& config);

/// Throws core::Error when the power spectrum ends before the shortest wave of the finest particles that a random field
/// is made for.
void check_power(const CosmologyConfig& config);

/// The quantities of its snapshots: of the dark matter, of gravity, of the gas. Criteria of refinement may look at all
/// but the potential.
std::vector<mesh::Quantity> cosmology_quantities(const CosmologyConfig& config);

/// The options of these tables, for the reference.
std::map<std::string, std::vector<core::Option>> cosmology_options(bool has_gas);

}  // namespace sidestream::sims
