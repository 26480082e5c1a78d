#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/amr/subcycle.hpp"
#include "sidestream/sims/simulation.hpp"
#include "sidestream/solvers/background.hpp"
#include "sidestream/solvers/gas_heating.hpp"
#include "sidestream/solvers/refined_gas.hpp"
#include "sidestream/solvers/refined_particle_mesh.hpp"
#include "sims/cosmology/cosmology_config.hpp"
#include "sims/cosmology/energies.hpp"
#include "sims/gas/self_gravity.hpp"

namespace sidestream::sims {

/// What a universe begins with.
struct UniverseState {
  mesh::Hierarchy hierarchy;
  std::vector<mesh::Field<double>> gas;    ///< of each level, supercomoving, with ghost cells; none without gas
  std::vector<mesh::Particles> particles;  ///< of each level
  /// Of gravity, of each level, where a run goes on whose mesh may be refined; none otherwise.
  std::vector<mesh::Field<double>> potentials;
};

/// A limit of the supercomoving step of level 0 and what it comes from.
struct StepLimit {
  double dtau = 0.0;
  std::string name;
};

/// Gas, dark matter and the gravity between them on the levels of a mesh. Quantities are supercomoving: velocities
/// times a, specific energies times a^2 (docs/concepts/cosmology.md). All members but the accessors are collective.
class Universe {
 public:
  /// `config`, `background` and `bill`, to which the parts of the work add their times, outlive the object. `heating`:
  /// of the gas; null where there is none.
  Universe(const comm::Communicator& comm, const CosmologyConfig& config, const solvers::Background& background,
           std::shared_ptr<const solvers::HeatingCooling> heating, UniverseState state, core::Bill& bill);

  /// What the levels allow for a step at the scale factor `a`; zero where something is not finite.
  std::vector<StepLimit> step_limits(double a) const;

  /// Why the state of this rank cannot be advanced; empty when it can. Local, a pass through all of it.
  std::string problem(double a) const;

  /// One step of all levels, from the scale factor `a0` to `a1`: kick, drift, kick on each level, the finer ones in
  /// steps half as long. Second order, time-symmetric for the particles; the gas is advanced by the Euler equations in
  /// the drift. With `adapts`, `adapt` follows. Returns the length of the step in supercomoving time.
  double advance(double a0, double a1, bool adapts);

  /// Refines and coarsens by one level at most where the criteria ask for it at the scale factor `a`, and returns
  /// whether anything changed; if so, `solve_gravity` comes before the next step.
  bool adapt(double a);
  /// Why the last `adapt` did not change the mesh although the criteria ask for it; empty otherwise.
  const std::string& refusal() const { return refusal_; }

  /// Potential and accelerations of all matter.
  void solve_gravity();

  const mesh::Hierarchy& hierarchy() const { return hierarchy_; }
  int finest_level() const { return hierarchy_.finest_level(); }
  /// Edits the gas, on which gravity then acts: see `edit_gas`.
  std::int64_t edit(const couple::RegionEdit& edit, const GasUnits& units);
  /// Has the steps to come be what the configuration, which has changed, says of them. Local.
  void take_up_scheme();
  bool has_gas() const { return gas_.has_value(); }
  /// The conserved components on all blocks of a level.
  const mesh::Field<double>& gas(int level) const { return gas_->state(level); }
  const mesh::Particles& particles(int level) const { return particles_[static_cast<std::size_t>(level)]; }
  /// psi with lap psi = density - mean [Msun/Mpc], on all blocks of a level.
  const mesh::Field<double>& potential(int level) const { return gravity_.potential(level); }
  /// Comoving density of the particles on all blocks of all levels.
  std::vector<mesh::Field<double>> dark_matter_density();
  std::int64_t total_particles() const { return total_particles_; }

  /// Mass of all gas [Msun]: the leaves' exact sum.
  double gas_mass() const;
  /// At the scale factor `a`, with the density and the potential of the last `solve_gravity`: the leaves' exact sums.
  Energies energies(double a) const;
  /// What was done to the gas on this rank beside solving its equations since this was last called; energies are proper
  /// [Msun (km/s)^2], at the time when it was done.
  solvers::HydroBooks take_books() { return gas_->take_books(); }
  solvers::HeatingBooks take_heating_books();
  /// The gas of this rank that heating and cooling could not advance, in a sentence; empty when there is none. Local.
  std::string heating_problem() const { return heating_ ? heating_->problem() : ""; }
  /// Cells that were advanced on this rank.
  std::int64_t cell_updates() const { return gas_ ? gas_->cell_updates() : 0; }

 private:
  struct Step {
    double a0 = 1.0, a1 = 1.0, dtau = 0.0;
  };

  void advance_level(const amr::LevelStep& part);
  void synchronize(int level);
  solvers::LeapfrogStep leapfrog_of(const amr::LevelStep& part) const;
  void kick(int level, double factor, double drift, solvers::FastestWave* wave);
  void advance_gas(const amr::LevelStep& part, const solvers::LeapfrogStep& step);
  void migrate_particles(int level);
  double coarse_weight_after(const amr::LevelStep& part) const;
  void deposit_from(const amr::LevelStep& part, double finer_ahead);
  void solve_level(const amr::LevelStep& part);
  void solve_from(const amr::LevelStep& part);
  void move_to(const mesh::Hierarchy& hierarchy);
  std::vector<std::vector<amr::Tags>> judge(double a);
  std::vector<std::vector<double>> costs_of(const mesh::Forest& forest) const;
  void allocate_density();

  const comm::Communicator& comm_;
  const CosmologyConfig& config_;
  const solvers::Background& background_;
  core::Bill& bill_;
  mesh::Hierarchy hierarchy_;
  std::optional<solvers::RefinedGas> gas_;
  std::optional<solvers::GasHeating> heating_;
  std::vector<mesh::Particles> particles_;  // with momenta w = a u
  std::int64_t total_particles_;
  std::shared_ptr<core::Workroom> room_;  // of the deposit and of gravity
  solvers::RefinedParticleMesh particle_mesh_;
  SelfGravity gravity_;
  std::vector<mesh::Field<double>> density_;  // of all matter, comoving
  std::vector<double> largest_momentum_;      // of each level, on this rank
  std::optional<double> gas_step_;            // that gas allows on this rank, where the last kick has seen all of it
  Step step_;
  std::vector<amr::LevelStep> parts_;              // the last one of each level
  std::int64_t steps_ = 0, particle_updates_ = 0;  // particles that were moved on this rank, each as often as it was
  std::string refusal_;
};

}  // namespace sidestream::sims
