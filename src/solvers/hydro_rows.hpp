#pragma once

#include <array>
#include <cstddef>

#include "solvers/hydro_gas.hpp"

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

enum class RiemannSolver { two_shock, hllc };

/// What all kernels need to know.
struct RowContext {
  Gas gas;
  RiemannSolver solver;
  double eta;           ///< of the dual energy; 0: off
  double energy_floor;  ///< least specific internal energy
};

/// Primitive variables of `cells` cells of gas.
void compute_primitives(const RowContext& context, int cells, ConstRows state, Rows primitive);

/// Sound speed c, rho c, 1 / (rho c) and 1 / c^2.
void compute_sound(const RowContext& context, int cells, ConstRows primitive, Rows sound);

/// `shock_strength` of the cells of the row `stencil[2]`, from rows one and two cells away along `axis`.
void compute_shock_strength(const RowContext& context, int cells, int axis, const std::array<ConstRows, 5>& stencil,
                            double* strength);

/// The states that the cells of row `stencil[2]` send to their lower and upper faces normal to `axis` in half a step:
/// averages of the parabolas over what each wave reaches (Colella & Woodward 1984, section 3; Colella 1990).
/// `strength` are the rows of `shock_strength` one cell below, here, and one cell above, or null.
void trace(int cells, int axis, double dt_over_dx, const std::array<ConstRows, 5>& stencil, ConstRows sound,
           const std::array<const double*, 3>& strength, Rows lower_face, Rows upper_face);

/// Fluxes through the two faces of the cells of a row normal to a transverse axis, and the share of dt / dx to apply.
struct Transverse {
  ConstRows lower, upper;
  double factor = 0.0;
};

/// Face states with the divergence of transverse fluxes taken off, along one other axis or two. What would get nearly
/// empty stays as it was.
void correct(const RowContext& context, int cells, ConstRows state, const Transverse* transverse, int count,
             Rows corrected);

/// Solves the Riemann problems between `left` and `right` across faces normal to `axis`; `is_final`: with energies.
void solve_riemann(const RowContext& context, int faces, int axis, ConstRows left, ConstRows right, bool is_final,
                   Rows flux);

/// The fluxes through the faces of the cells of a row, along each axis.
struct Divergence {
  std::array<ConstRows, 3> lower, upper;
  std::array<double, 3> dt_over_dx;
};

/// Rows of the velocity along each axis, before the step, of the cells two and one below and one and two above along
/// that axis.
using Approach = std::array<std::array<const double*, 4>, 3>;

/// Rows of what the update did to the total energy beside the fluxes.
enum Booked : int { booked_choice, booked_floor };
constexpr int booked_components = 2;

/// Numbers of cells of a row.
struct UpdateCounts {
  int unphysical = 0;  ///< left without a choice of energies and without floors
  int floored = 0;     ///< of the others: raised to the energy floor
};

/// Whether neither mass nor energy of a cell nearly vanished in a step.
bool is_physical(const RowContext& context, ConstRows before, ConstRows after, int i, double density_floor);

/// New gas of a row of cells, with the energies in agreement (see `Hydro`).
UpdateCounts update(const RowContext& context, int cells, ConstRows state, const Divergence& fluxes,
                    const Approach& approach, double density_floor, Rows out, Rows booked);

}  // namespace sidestream::solvers
