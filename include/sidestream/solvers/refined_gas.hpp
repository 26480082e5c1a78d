#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "sidestream/amr/flux_register.hpp"
#include "sidestream/amr/level_transfer.hpp"
#include "sidestream/amr/subcycle.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::solvers {

/// Writes the ghost cells beyond the domain of a gas state on the level of `geometry`, at `time`; null where all axes
/// are periodic.
using GasBoundary = std::function<void(mesh::Field<double>& state, const mesh::Geometry& geometry, double time)>;

/// Interpolates gas states: limited linear in the conserved variables, or constant in a coarse cell of which a child
/// would come out with less than a quarter of its density or without internal energy. The children of a cell have its
/// mass, momentum and energy.
amr::Interpolation gas_interpolation(const HydroConfig& config);

/// Gas on all levels of a hierarchy. Fill the ghost cells of and `advance` one level at a time in the order of
/// `amr::subcycle`, `synchronize` where two levels meet in time: mass, momentum and total energy are then conserved to
/// round-off (with dual energy off). On a hierarchy of one level it is `Hydro` with a ghost exchange. Results depend on
/// the blocks, not on the ranks.
///
/// Memory, a cell: six numbers with ghost cells, and six without for levels that have a finer one, twelve where steps
/// begin with half a kick.
class RefinedGas {
 public:
  /// `state[level]`, on the hierarchy's layouts with `hydro_ghost` ghost cells; refined blocks need not be set. The
  /// internal energy is made to follow the total energy (see `follow_total_energy`). Collective.
  RefinedGas(const comm::Communicator& comm, const HydroConfig& config, mesh::Hierarchy hierarchy,
             std::vector<mesh::Field<double>> state, amr::TimeLevels time_levels = amr::TimeLevels::subcycled,
             GasBoundary boundary = {});

  const mesh::Hierarchy& hierarchy() const { return hierarchy_; }
  int finest_level() const { return hierarchy_.finest_level(); }
  /// The coarsest level that has leaves: it covers the domain, and a step is one of its steps. Coarser levels hold
  /// averages.
  int base_level() const { return base_level_; }
  amr::TimeLevels time_levels() const { return time_levels_; }
  mesh::Field<double>& state(int level) { return state_[static_cast<std::size_t>(level)]; }
  const mesh::Field<double>& state(int level) const { return state_[static_cast<std::size_t>(level)]; }

  /// The longest step of the base level that all finer levels can follow; the same on all ranks. Collective.
  double largest_step() const;
  /// To look at gas of `level`: its configuration and cells.
  FastestWave fastest_wave(int level) const { return {config_, hierarchy_.geometry(level)}; }

  /// From now on: the Courant number, the Riemann solver and the flattening of `config`, and the steps of levels.
  /// Local.
  void set_scheme(const HydroConfig& config, amr::TimeLevels time_levels);
  /// After somebody wrote leaves: refined blocks hold averages again, and the internal energy follows. Collective.
  void settle();

  /// All levels are at the same time, and a step of all begins. Local.
  void begin_step() { grown_.assign(grown_.size(), 1.0); }
  /// A step of `level` begins with something else than `advance`, by a half of what is done to its gas: a kick, the
  /// expansion; the other half follows when it was advanced. Local.
  void begin_with_half(int level);
  /// Multiplies the internal energy of `level` by `factor`: the expansion of a gas (`expansion_source`). Local.
  void expand(int level, double factor);

  /// Fills the ghost cells of `level` at `time`. For levels above 0 the coarser level may have taken its step already:
  /// `coarse_weight` is the place of `time` between that step's beginning and end; 1 where both levels are at the same
  /// time. Collective.
  void fill_ghosts(int level, double time, double coarse_weight);

  /// Fills so many layers of ghost cells of the base level and all finer ones, which are at the same `time`: for those
  /// who look at the gas. All `hydro_ghost` layers are those that each level's first step from here needs, as long as
  /// nobody changes the gas: `fill_ghosts` would write the same bits. Collective.
  void fill_ghosts_of_all(double time, std::int32_t layers);

  /// Advances `level`, whose ghost cells are filled, by `dt`. Local.
  void advance(int level, double dt);

  /// Corrects `level` for the fluxes of the finer level, which is at the same time, and averages that one down onto it.
  /// Collective.
  void synchronize(int level);

  /// Averages the base level down onto the coarser ones: at the end of a step. Collective.
  void average_below_base();

  /// One step of all levels. Collective.
  void advance_all(double time, double dt);

  /// Moves to another hierarchy of the same root grid; all levels are at `time`. Collective.
  void move_to(const mesh::Hierarchy& hierarchy, double time);

  /// What depends on time, for all that follows.
  void set_epoch(const HydroEpoch& epoch) { epoch_ = epoch; }

  /// What was done to the leaves on this rank beside solving the equations since this was last called: in a step, at
  /// the places where levels meet, in changes of the mesh.
  HydroBooks take_books() { return std::exchange(books_, {}); }
  /// Cells that were advanced so far on this rank, each as often as it was.
  std::int64_t cell_updates() const { return cell_updates_; }

  /// Adds the density of the gas on all blocks of a level to `density`, on the level's layout. Local.
  void add_density(int level, mesh::Field<double>& density) const;
  /// The same for `level`, which has been advanced, and all finer levels, which have not: for these as their gas lies
  /// in each cell of the coarser level now, but as much of it as will be there; in three dimensions. Collective.
  void add_density_ahead(int level, std::span<mesh::Field<double>> density) const;

 private:
  void plan();
  amr::FillOutside outside_at(double time) const;
  void average_down(int level);
  void follow_total_energy(int level, bool refined_blocks_only);
  bool is_leaf(int level, int block) const;
  double worth(int level) const { return epoch_.worth * hierarchy_.geometry(level).cell_volume(); }
  void book_leaf_energy(const mesh::Forest& other, double sign);

  comm::Communicator comm_;
  HydroConfig config_;
  mesh::Hierarchy hierarchy_;
  amr::TimeLevels time_levels_;
  int base_level_ = 0;
  GasBoundary boundary_;
  amr::Interpolation interpolation_;
  amr::CoarseState coarse_state(const mesh::Field<double>& state, double grown, int finer_level) const;

  std::vector<mesh::Field<double>> state_, older_;  // of each level; `older_` of those that have a finer one
  std::vector<mesh::Field<double>> untouched_;      // before a half of a kick; empty where levels do without
  // What `expand` has made of internal energies since the step of all levels began, in each of these.
  std::vector<double> grown_, older_grown_, untouched_grown_;
  std::vector<Hydro> hydro_;
  std::vector<redistribute::GhostFill> ghosts_;
  std::vector<redistribute::GhostFill> inner_ghosts_;  // of `inner_layers_` layers; made on first use
  std::int32_t inner_layers_ = 0;
  std::vector<amr::LevelTransfer> transfers_;  // [l]: between l and l + 1
  std::vector<amr::FluxRegister> registers_;   // [l]: between l and l + 1
  std::vector<amr::SideFluxes> fluxes_;
  mutable std::vector<redistribute::Redistribution> outlines_;  // [l]: l to the outlines of l + 1; made on first use
  std::vector<std::vector<BlockUse>> uses_;
  HydroEpoch epoch_;
  HydroBooks books_;
  std::int64_t cell_updates_ = 0;
};

}  // namespace sidestream::solvers
