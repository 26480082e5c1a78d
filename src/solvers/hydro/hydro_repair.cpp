#include "solvers/hydro/hydro_repair.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "sidestream/core/symmetric.hpp"

namespace sidestream::solvers {

namespace {

/// Primitive variables and conserved densities of a cell.
struct CellState {
  std::array<double, 5> conserved;  // mass, momentum, total energy
  double p, c, normal_u;
};

CellState cell_state(const RowContext& context, ConstRows state, int i, int axis) {
  CellState cell{};
  for (int component = 0; component < 5; ++component)
    cell.conserved[static_cast<std::size_t>(component)] = state[component][i];
  const double rho = state[density][i];
  cell.p = context.gas.gamma_1 * std::max(state[internal_energy][i], rho * context.energy_floor);
  cell.c = std::sqrt(context.gas.gamma * cell.p / rho);
  cell.normal_u = state[momentum_x + axis][i] / rho;
  return cell;
}

/// The order of faces in a block, to find those that two cells want to replace.
auto face_order(const FaceRepair& face) {
  return std::array{face.axis, face.cell.z, face.cell.y, face.cell.x};
}

/// What replaced fluxes change in a cell, along each axis.
using CellChange = std::array<std::array<double, 5>, 3>;

/// Replaces the fluxes at the faces inside `box` that have been found wanting; each change goes to both cells. No axis
/// comes before another.
void replace_fluxes(const mesh::Box& box, std::vector<FaceRepair>& faces, core::View4<double> state) {
  std::sort(faces.begin(), faces.end(), [](const auto& a, const auto& b) { return face_order(a) < face_order(b); });
  faces.erase(std::unique(faces.begin(), faces.end(),
                          [](const auto& a, const auto& b) { return face_order(a) == face_order(b); }),
              faces.end());
  std::map<std::array<std::int32_t, 3>, CellChange> changes;
  for (const FaceRepair& face : faces) {
    mesh::Int3 below = face.cell;
    --below[face.axis];
    if (!box.contains(below) || !box.contains(face.cell)) continue;
    const auto axis = static_cast<std::size_t>(face.axis);
    auto& lower = changes[{below.z, below.y, below.x}][axis];
    auto& upper = changes[{face.cell.z, face.cell.y, face.cell.x}][axis];
    for (std::size_t c = 0; c < 5; ++c) {
      lower[c] -= face.change[c];
      upper[c] += face.change[c];
    }
  }
  for (const auto& [cell, change] : changes)
    for (std::size_t c = 0; c < 5; ++c)
      state(static_cast<int>(c), cell[0], cell[1], cell[2]) +=
          core::symmetric_sum(change[0][c], change[1][c], change[2][c]);
}

}  // namespace

CellBefore cell_before(mesh::Int3 cell, ConstRows state, int i) {
  CellBefore before{cell, {}};
  for (int c = 0; c < gas_components; ++c) before.gas[static_cast<std::size_t>(c)] = state[c][i];
  return before;
}

std::array<double, 5> first_order_flux(const RowContext& context, ConstRows lower, ConstRows upper, int i, int axis) {
  const CellState l = cell_state(context, lower, i, axis), r = cell_state(context, upper, i, axis);
  const double l_speed = std::min({l.normal_u - l.c, r.normal_u - r.c, 0.0});
  const double r_speed = std::max({l.normal_u + l.c, r.normal_u + r.c, 0.0});
  const auto flux_of = [axis](const CellState& cell, std::size_t component) {
    const double pressure_part = component == total_energy                          ? cell.p * cell.normal_u
                                 : static_cast<int>(component) == momentum_x + axis ? cell.p
                                                                                    : 0.0;
    return cell.conserved[component] * cell.normal_u + pressure_part;
  };
  std::array<double, 5> flux{};
  for (std::size_t n = 0; n < flux.size(); ++n)
    flux[n] =
        (r_speed * flux_of(l, n) - l_speed * flux_of(r, n) + l_speed * r_speed * (r.conserved[n] - l.conserved[n])) /
        (r_speed - l_speed);
  return flux;
}

void Repairman::settle(const CellBefore& before) const {
  const mesh::Int3 at = before.cell;
  const auto value = [&](int c) -> double& { return state(c, at.z, at.y, at.x); };
  const double old_rho = before.gas[density], old_e = before.gas[internal_energy] / old_rho;
  const double least_rho = std::max(config.density_floor, least_share * old_rho);
  if (!(value(density) >= least_rho)) {
    // Gas is added at the old velocity and temperature.
    const double missing_mass = least_rho - value(density), energy = value(total_energy);
    for (int c = 0; c < gas_components; ++c) value(c) = before.gas[static_cast<std::size_t>(c)] * (least_rho / old_rho);
    if (worth > 0.0) {
      ++books.density_floors;
      books.floor_mass.add(volume * missing_mass);
      books.floor_energy.add(worth * (value(total_energy) - energy));
    }
  }
  const double heat =
      value(total_energy) - kinetic_energy(value(density), value(momentum_x), value(momentum_y), value(momentum_z));
  const bool is_certain = config.dual_energy_eta == 0.0 || heat > config.dual_energy_eta * value(total_energy);
  const double e = is_certain ? heat : value(density) * old_e;
  const double least_e = value(density) * std::max(config.internal_energy_floor, least_share * old_e);
  value(internal_energy) = e > least_e ? e : least_e;
  if (e > least_e) return;
  value(total_energy) += least_e - e;
  if (worth == 0.0) return;
  ++books.energy_floors;
  books.floor_energy.add(worth * (least_e - e));
}

void repair(const Repairman& man, const mesh::Box& box, Repairs& repairs) {
  if (repairs.cells == 0) return;
  if (man.worth > 0.0) man.books.first_order_cells += repairs.cells;
  replace_fluxes(box, repairs.faces, man.state);
  auto& touched = repairs.touched;
  std::erase_if(touched, [&](const CellBefore& each) { return !box.contains(each.cell); });
  std::ranges::sort(touched, {}, [&](const CellBefore& each) { return mesh::linear_index(box, each.cell); });
  const auto repeated = std::ranges::unique(touched, {}, &CellBefore::cell);
  touched.erase(repeated.begin(), repeated.end());
  for (const CellBefore& each : touched) man.settle(each);
}

}  // namespace sidestream::solvers
