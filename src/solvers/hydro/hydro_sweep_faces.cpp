#include <array>

#include "solvers/hydro/hydro_sweep.hpp"

// What a sweep tells of the fluxes through faces: through the sides of the box, and beside cells that have to be
// repaired.

namespace sidestream::solvers {

namespace {

/// The fluxes of what is conserved, in the order of the gas components.
constexpr std::array<int, 5> conserved_flux{flux_mass, flux_x, flux_y, flux_z, flux_energy};

}  // namespace

// Hands out the fluxes through those faces of plane `k` that lie in a side of the box.
void HydroSweep::record_plane(int k) {
  for (int axis = 0; axis < 3; ++axis)
    for (int high = 0; high < 2; ++high) {
      const core::View4<double> to = sides_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(high)];
      if (to.components() == 0 || !is_active(axis)) continue;
      const int face = high == 1 ? extent_[axis] : 0;
      if (axis == 0)
        for (int j = 0; j < extent_.y; ++j) record_row(to, axis, k, j, {face, face + 1});
      else if (axis == 1)
        record_row(to, axis, k, face, {0, extent_.x});
      else if (k == face - high)
        for (int j = 0; j < extent_.y; ++j) record_row(to, axis, face, j, {0, extent_.x});
    }
}

void HydroSweep::record_row(core::View4<double> to, int axis, int k, int j, Range row) {
  const ConstRows flux = last_[static_cast<std::size_t>(axis)].at(k, j);
  for (std::size_t n = 0; n < conserved_flux.size(); ++n)
    for (int i = row.begin; i < row.end; ++i)
      to(static_cast<int>(n), lo_.z + k, lo_.y + j, lo_.x + i) = flux[conserved_flux[n]][i];
}

// Notes the cells of a row that came out unphysical, and what first-order fluxes would change at their faces. Faces
// between blocks keep their flux, because the other block does not know: so that no mass is lost.
void HydroSweep::find_repairs(int k, int j, const Divergence& fluxes, ConstRows out, Repairs& repairs) {
  const ConstRows old = state_row(k, j);
  for (int i = 0; i < extent_.x; ++i) {
    if (is_physical(context_, old, out, i, density_floor_)) continue;
    const mesh::Int3 cell = lo_ + mesh::Int3{i, j, k};
    ++repairs.cells;
    repairs.touched.push_back(cell_before(cell, old, i));
    for (int axis = 0; axis < 3; ++axis) {
      if (!is_active(axis)) continue;
      const auto a = static_cast<std::size_t>(axis);
      const ConstRows below = axis == 0 ? old.shifted(-1) : axis == 1 ? state_row(k, j - 1) : state_row(k - 1, j);
      const ConstRows above = axis == 0 ? old.shifted(1) : axis == 1 ? state_row(k, j + 1) : state_row(k + 1, j);
      const auto repair = [&](ConstRows lower, ConstRows upper, ConstRows flux, mesh::Int3 upper_cell) {
        const auto low_order = first_order_flux(context_, lower, upper, i, axis);
        FaceRepair face{axis, upper_cell, {}};
        for (std::size_t n = 0; n < 5; ++n)
          face.change[n] = dt_over_dx_[a] * (low_order[n] - flux[conserved_flux[n]][i]);
        repairs.faces.push_back(face);
      };
      mesh::Int3 next = cell, before = cell;
      ++next[axis];
      --before[axis];
      repair(below, old, fluxes.lower[a], cell);
      repair(old, above, fluxes.upper[a], next);
      repairs.touched.push_back(cell_before(before, below, i));
      repairs.touched.push_back(cell_before(next, above, i));
    }
  }
}

}  // namespace sidestream::solvers
