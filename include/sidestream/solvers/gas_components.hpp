#pragma once

namespace sidestream::solvers {

/// The components of a gas state: densities of mass, momentum, total energy (internal and kinetic) and internal energy.
/// The internal energy is carried twice so that it stays accurate in gas far colder than its motion (dual energy).
enum GasComponent : int { density, momentum_x, momentum_y, momentum_z, total_energy, internal_energy };
constexpr int gas_components = 6;

}  // namespace sidestream::solvers
