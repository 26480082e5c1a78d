#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "sidestream/amr/flux_register.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/largest_magnitude.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/solvers/gas_components.hpp"

namespace sidestream::solvers {

/// Width of the ghost cells that `Hydro` reads.
constexpr std::int32_t hydro_ghost = 4;
/// Of a gas state on a domain: flat axes have none, for nothing moves along them.
inline mesh::Ghosts hydro_ghosts(const mesh::Box& domain) {
  return mesh::ghosts_of_active_axes(domain, hydro_ghost);
}

/// How the Euler equations are solved.
struct HydroConfig {
  double gamma = 5.0 / 3.0;
  double cfl = 0.5;
  std::string riemann = "two-shock";   ///< "two-shock" or "hllc"
  double dual_energy_eta = 1e-3;       ///< 0: off; the total energy is then conserved to round-off (see `Hydro`)
  double density_floor = 0.0;          ///< gas is never thinner
  double internal_energy_floor = 0.0;  ///< specific; gas is never colder
  std::string flattening = "shocks";   ///< of the reconstruction: in "shocks", in all "compressions", or "none"
};

/// The options of `[hydro]`; a problem may have its own `standard` values.
core::Table<HydroConfig> hydro_table(const HydroConfig& standard = {});

/// Throws a core::Error unless gamma > 1, 0 < cfl <= 1 and so on.
void check(const HydroConfig& config);

/// What was done to the gas beside solving its equations, on this rank: counts of cells, masses and energies. The sums
/// are exact, so that they do not depend on blocks and ranks.
struct HydroBooks {
  std::int64_t first_order_cells = 0;       ///< whose faces fell back to first order to keep the density positive
  std::int64_t density_floors = 0;          ///< set to the density floor
  std::int64_t energy_floors = 0;           ///< whose internal energy was raised to the floor
  core::ExactSum floor_mass, floor_energy;  ///< that floors and repairs brought in

  HydroBooks& operator+=(const HydroBooks& other);
};

/// Energy that each mass of gas gains or loses beside the Euler equations in a step: heating and cooling. A cell's
/// depends on that cell alone.
class GasSource {
 public:
  virtual ~GasSource() = default;

  /// Multiplies pressures by what half a step of the source alone makes of them: the gas as its waves meet halfway.
  virtual void advance_half(int cells, const double* density, double* pressure) const = 0;

  /// Completes the step of `cells` of `state`, which the Euler equations have advanced; `before` holds their density
  /// and internal energy (both a volume) at its beginning. `volume`: of a leaf's cell, 0 for what is not to be booked.
  virtual void complete(const mesh::Box& cells, core::View4<const double> before, core::View4<double> state,
                        double volume) = 0;
};

/// What depends on time for a gas, such as one in supercomoving variables.
struct HydroEpoch {
  double internal_energy_floor = 0.0;  ///< specific; holds beside that of the configuration
  double worth = 1.0;                  ///< of an energy in the books: 1 / a^2
  GasSource* source = nullptr;         ///< outlives the step; null: there is none
};

/// What becomes of a block in `Hydro::advance`.
enum class BlockUse : std::uint8_t {
  leaf,     ///< advanced and booked
  covered,  ///< advanced, because leaves beside it need its fluxes or ghost cells; not booked
  idle      ///< left as it is
};

/// The fastest waves in the gas that has been looked at, and the step that goes with them.
class FastestWave {
 public:
  FastestWave(const HydroConfig& config, const mesh::Geometry& geometry);

  /// Looks at the cells of `box` in the row (k, j).
  void look_at(core::View4<const double> state, const mesh::Box& box, int k, int j);
  /// `cfl` times the shortest time in which a wave crosses a cell; infinity where there was no cell, 0 where a number
  /// is not finite.
  double largest_step() const;

 private:
  double cfl_, square_factor_;
  std::array<double, 3> inverse_size_{};  // of cells; 0 along flat axes
  core::LargestMagnitude rate_, others_;
};

/// Godunov's method for an ideal gas: dimensionally unsplit corner transport upwind with the full coupling of corners
/// (Colella 1990; Saltzman 1994), the piecewise parabolic method with characteristic tracing (Colella & Woodward 1984),
/// a Riemann solver at each face. Second order in smooth flow, stable to a Courant number of 1. Solves
///     dU/dt + div F(U) = 0
/// without sources. In supercomoving variables (dtau = dt/a^2, velocity a u, specific energy a^2 e) these are also the
/// equations of a gas of gamma = 5/3 in an expanding universe.
///
/// Dual energy (`dual_energy_eta` > 0). The total energy is conserved and knows the heat of shocks, but what it leaves
/// beside the kinetic energy of a cell's mean motion, the heat, holds the motion inside the cell as well; the internal
/// energy that is advanced by itself is precise but stays on its adiabat. After a step the internal energy is
/// 1. in a shock the heat, where it is more than the adiabatic energy and than the least that the shock brings. A cell
///    is in a narrow shock where the gas is compressed and at least two thirds of the fall of a velocity over four
///    cells along its axis lie in the middle two (in even convergence, half): the least is three quarters of the inner
///    motion, the kinetic energy that a linear velocity has inside the cell relative to its mean, rho / 24 times the
///    squares of the differences across the cell of all components along all axes. It is in a wide shock, such as
///    advection makes of one that moves through the mesh fast, where the same holds of the fall over eight cells and
///    the middle four: the least is, beside that, rho / 16 times the squared fall over the four, half of the kinetic
///    energy that two equal streams of that difference have to lose;
/// 2. in gas that is warm already the heat, where it is within a factor of two of the adiabatic energy, more than the
///    inner motion and more than `dual_energy_eta` of the total energy;
/// 3. else the adiabatic one. Per mass it is at least nine tenths of the least of what was in the cell and what flows
///    in, but for expansion, so that neither advection nor expansion drives it through zero.
/// The total energy stays as it is: what it holds beside kinetic and internal energy, of either sign, is the unresolved
/// energy. It moves with the gas until it is believed to be heat, or is motion that the mesh resolves again. So no
/// energy is discarded; floors and the repair of cells add some (`HydroBooks::floor_energy`, `floor_mass`). Cold gas
/// stays on its adiabat at Mach 1000 and in waves of a few cells that are far from crossing. Shocks in cold gas heat as
/// they should, at rest or carried through the mesh at twenty times their own fall in velocity; the limits of both are
/// in docs/decisions/0014-heat-of-shocks.md.
///
/// Axes along which the domain has one cell are left out: so one- and two-dimensional problems are solved.
/// A cell's new value depends on the old values of the cells within four of it and on nothing else, to the bit:
/// not on blocks or ranks (but for the cells that `HydroBooks::first_order_cells` counts). The arithmetic is
/// symmetric: a problem that is mirrored along an axis, or has two axes exchanged, has the mirrored or exchanged
/// solution, to the bit.
class Hydro {
 public:
  Hydro(const HydroConfig& config, const mesh::Geometry& geometry);

  const HydroConfig& config() const { return config_; }
  const mesh::Geometry& geometry() const { return geometry_; }

  /// The step that the `FastestWave` in the owned cells of this rank allows. The caller takes the minimum over ranks.
  /// Local.
  double largest_step(const mesh::Field<double>& state) const;

  /// Advances the owned cells of `state` by `dt` in place. The ghost cells (`hydro_ghost` layers on each axis of more
  /// than one cell, corners included) hold the state at the start of the step, filled by the caller; they are left as
  /// they were. Density and internal energy are positive before and after. Local. Cost:
  /// docs/reference/performance.md; small blocks are the dearest, for the cells around them are computed as well. It
  /// allocates scratch of up to three megabytes.
  ///
  /// For refined meshes: `fluxes` takes the fluxes of the components 0 to 4 (mass, momentum, total energy) through the
  /// sides that it asks for, as the update used them, the same bits from both blocks at a face; `uses` says what
  /// becomes of each block (empty: all are leaves). Idle ones give no fluxes. Energies go into the books as those of
  /// the cells' volume times the worth of `epoch`.
  ///
  /// `meanwhile` is called between two pieces of the work, of at most 16 rows of a block along y.
  HydroBooks advance(mesh::Field<double>& state, double dt, amr::SideFluxes* fluxes = nullptr,
                     std::span<const BlockUse> uses = {}, const HydroEpoch& epoch = {},
                     const std::function<void()>& meanwhile = {}) const;

 private:
  HydroConfig config_;
  mesh::Geometry geometry_;
};

/// Adds `factor` * acceleration to the velocity of the owned cells: `acceleration` has three components. The total
/// energy changes by exactly the change of the kinetic energy; the internal energy does not change. `wave`, if any,
/// looks at the cells afterwards.
void kick(mesh::Field<double>& state, const mesh::Field<double>& acceleration, double factor,
          FastestWave* wave = nullptr);
/// The same by the central differences of a potential with filled ghost cells, one layer or more: the same bits as with
/// the acceleration that `Gravity` makes of it, which need not be stored then.
void kick_by_potential(mesh::Field<double>& state, const mesh::Field<double>& potential, const mesh::Geometry& geometry,
                       double factor, FastestWave* wave = nullptr);

/// The expansion term of a gas with gamma other than 5/3 in supercomoving variables: multiplies the internal energy of
/// all cells, ghost cells too, by `factor` and adds the change to the total energy. Its rate of growth is (2 - 3 (gamma
/// - 1)) a^2 H, so that from scale factor a0 to a1 the factor is (a1 / a0)^(5 - 3 gamma), exactly.
void expansion_source(mesh::Field<double>& state, double factor);

/// Sets the total energy of the owned cells to internal plus kinetic energy, for initial conditions.
void set_total_energy(mesh::Field<double>& state);

/// Makes the internal energy of `cells` follow a total energy that was changed from outside, by fluxes or averages:
/// sets it to total minus kinetic energy. Where that is not positive, the internal energy stays and the total energy is
/// set to internal plus kinetic; returns the number of such cells and adds what they gained, times `worth`, to
/// `booked`. With dual energy on, does nothing: the next step decides which of the two holds.
std::int64_t follow_total_energy(const HydroConfig& config, core::View4<double> state, const mesh::Box& cells,
                                 core::ExactSum* booked = nullptr, double worth = 1.0);

/// Half of rho u^2 from the density and the three momenta; the same bits for any order of the axes.
double kinetic_energy(double rho, double rho_u, double rho_v, double rho_w);

/// Pressure and sound speed of an ideal gas from the internal energy per volume.
inline double pressure(double gamma, double rho_e) {
  return (gamma - 1.0) * rho_e;
}
double sound_speed(double gamma, double rho, double rho_e);

}  // namespace sidestream::solvers
