#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "solvers/hydro/hydro_gas.hpp"

namespace sidestream::solvers {

/// Rows of cells along x, one for each component: component c of cell i is at data[c * stride + i].
template <typename T>
struct RowsOf {
  T* data = nullptr;
  std::ptrdiff_t stride = 0;

  T* operator[](int component) const { return data + component * stride; }
  RowsOf shifted(std::ptrdiff_t cells) const { return {data + cells, stride}; }
  operator RowsOf<const T>() const { return {data, stride}; }
};
using Rows = RowsOf<double>;
using ConstRows = RowsOf<const double>;

/// Components of rows of primitive variables and of face states.
enum Primitive : int { primitive_rho, primitive_u, primitive_v, primitive_w, primitive_p };
constexpr int primitives = 5;

/// Components of rows of sound speeds.
enum Sound : int { sound_speed_c, sound_impedance, sound_inverse_impedance, sound_inverse_square };
constexpr int sound_components = 4;

/// Components of rows of fluxes: of mass and momentum; velocity and pressure in the face; and, where the final flux is
/// meant, of total energy, and the internal energy of each mass that passes.
enum Flux : int { flux_mass, flux_x, flux_y, flux_z, flux_velocity, flux_pressure, flux_energy, flux_internal };
constexpr int predictor_flux_components = 6, final_flux_components = 8;

/// Components of rows of losses: of mass, momentum and pressure.
enum LossComponent : int { loss_mass, loss_x, loss_y, loss_z, loss_pressure };
constexpr int loss_components = 5;

enum class RiemannSolver { two_shock, hllc };

/// Where the reconstruction is flattened.
enum class Flattening { none, shocks, compressions };

/// What all kernels need to know.
struct RowContext {
  Gas gas;
  RiemannSolver solver;
  Flattening flattening;
  double eta;           ///< of the dual energy; 0: off
  double energy_floor;  ///< least specific internal energy
};

// Loops over the cells of a row, for every instruction set.
#pragma GCC visibility push(default)
inline namespace kernels {

/// Primitive variables of `cells` cells of gas.
void compute_primitives(const RowContext& context, int cells, ConstRows state, Rows primitive);

/// What the total energy of cells holds per mass beside kinetic and internal energy.
void compute_unresolved(int cells, ConstRows state, double* unresolved);

/// Kernels work on whole vectors: those below (but for `update`) may compute up to this many cells more than they are
/// asked for. The rows that they read and write have room for that, and nothing reads what comes out there.
constexpr int row_padding = 7;

/// Sound speed c, rho c, 1 / (rho c) and 1 / c^2.
void compute_sound(const RowContext& context, int cells, ConstRows primitive, Rows sound);

/// `shock_strength` or, as the context asks for, `compression_strength` of the cells of the row `stencil[2]`, from rows
/// one and two cells away along `axis`.
void compute_shock_strength(const RowContext& context, int cells, int axis, const std::array<ConstRows, 5>& stencil,
                            double* strength);

/// Raises `strength` of cells to the largest that flattens them along one axis: that of the cell or of the next one
/// towards lower pressure. `along`: the strengths along this axis one cell below, here, and one cell above.
void raise_strength(int cells, const double* pressure_below, const double* pressure_above,
                    const std::array<const double*, 3>& along, double* strength);

/// Some quantity of the cells below along an axis, of the cells, and of those above.
using Neighbors = std::array<ConstRows, 3>;

/// The limited slopes of all primitive variables.
void compute_slopes(int cells, const Neighbors& primitive, Rows slope);

/// The states that cells send to their lower and upper faces normal to `axis` in half a step: averages of the
/// parabolas over what each wave reaches (Colella & Woodward 1984, section 3; Colella 1990). `strength` are the rows
/// of `shock_strength` one cell below, here, and one cell above, or null.
void trace(int cells, int axis, double dt_over_dx, const Neighbors& primitive, const Neighbors& slope, ConstRows sound,
           const std::array<const double*, 3>& strength, Rows lower_face, Rows upper_face);

/// What leaves cells through their two faces normal to a transverse axis: `factor` times the difference of the
/// fluxes.
void take_loss(const RowContext& context, int cells, ConstRows lower_flux, ConstRows upper_flux, double factor,
               Rows loss);

/// The states that cells send to their lower and upper faces, without what left through other faces: `losses` are
/// those along one other axis or two. What would get nearly empty stays as it was.
void correct(int cells, const std::array<ConstRows, 2>& states, std::span<const ConstRows> losses,
             const std::array<Rows, 2>& corrected);

/// Solves the Riemann problems between `left` and `right` across faces normal to `axis`; `is_final`: with energies.
void solve_riemann(const RowContext& context, int faces, int axis, ConstRows left, ConstRows right, bool is_final,
                   Rows flux);

/// Adds what the mass through faces carries of `unresolved` energy, that of the cell it comes from, to its flux.
void carry_unresolved(int faces, const double* below, const double* above, Rows flux);

/// The fluxes through the faces of the cells of a row, along each axis.
struct Divergence {
  std::array<ConstRows, 3> lower, upper;
  std::array<double, 3> dt_over_dx;
};

/// The gas around the cells of a row before the step, by axis: primitive variables of the cells below and above, and
/// the velocities along the axis of those two and four below and above.
struct Surroundings {
  std::array<ConstRows, 3> below, above;
  std::array<const double*, 3> far_below, far_above, farthest_below, farthest_above;
};

/// Numbers of cells of a row.
struct UpdateCounts {
  int unphysical = 0;  ///< left without a choice of energies and without floors
  int floored = 0;     ///< of the others: raised to the energy floor
};

/// Whether neither mass nor energy of a cell nearly vanished in a step.
bool is_physical(const RowContext& context, ConstRows before, ConstRows after, int i, double density_floor);

/// New gas of a row of cells (see `Hydro`); `given`: the energy that the floor added to each.
UpdateCounts update(const RowContext& context, int cells, ConstRows state, const Divergence& fluxes,
                    const Surroundings& around, double density_floor, Rows out, double* given);

}  // namespace kernels
#pragma GCC visibility pop

}  // namespace sidestream::solvers
