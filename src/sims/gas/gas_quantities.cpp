#include "sims/gas/gas_quantities.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sidestream/core/for_each.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::sims {

void GasQuantity::write(core::View4<const double> gas, const mesh::Box& cells, core::View4<double> out) const {
  core::for_each_row(cells, [&](int k, int j) {
    const auto width = cells.extent().x;
    const double* const from = &gas(component, k, j, cells.lo.x);
    double* const to = &out(k, j, cells.lo.x);
    if (row)
      row(static_cast<std::size_t>(width), &gas(solvers::density, k, j, cells.lo.x),
          &gas(solvers::internal_energy, k, j, cells.lo.x), to);
    else if (is_per_mass)
      std::transform(from, from + width, &gas(solvers::density, k, j, cells.lo.x), to,
                     [by = factor](double u, double density) { return by * u / density; });
    else
      std::transform(from, from + width, to, [by = factor](double u) { return by * u; });
  });
}

std::vector<GasQuantity> gas_quantities(const GasUnits& units) {
  const double speed = units.velocity, energy = speed * speed;
  const auto unit = [&](const char* cosmological) { return std::string(units.is_cosmological ? cosmological : "1"); };
  const std::string density = unit("Msun/Mpc^3"), velocity = unit("km/s"), specific = unit("(km/s)^2"),
                    momentum = unit("Msun/Mpc^3 km/s"), energy_density = unit("Msun/Mpc^3 (km/s)^2");
  const auto along = [](int axis) { return fmt::format("along {}", "xyz"[axis]); };
  std::vector<GasQuantity> all;
  all.push_back({{"gas_density", density, "mass of the gas in a (comoving) volume", true}, solvers::density});
  for (int axis = 0; axis < 3; ++axis)
    all.push_back({{fmt::format("gas_momentum_{}", "xyz"[axis]), momentum, "momentum in a volume " + along(axis), true},
                   solvers::momentum_x + axis,
                   false,
                   speed});
  all.push_back({{"gas_total_energy", energy_density, "internal and kinetic energy in a volume", true},
                 solvers::total_energy,
                 false,
                 energy});
  all.push_back({{"gas_internal_energy", energy_density, "internal energy in a volume", true},
                 solvers::internal_energy,
                 false,
                 energy});
  for (int axis = 0; axis < 3; ++axis)
    all.push_back({{fmt::format("velocity_{}", "xyz"[axis]), velocity, "velocity of the gas (peculiar) " + along(axis)},
                   solvers::momentum_x + axis,
                   true,
                   speed});
  all.push_back(
      {{"pressure", energy_density, "of the gas"}, solvers::internal_energy, false, (units.gamma - 1.0) * energy});
  all.push_back({{"specific_total_energy", specific, "internal and kinetic energy of a mass of gas"},
                 solvers::total_energy,
                 true,
                 energy});
  all.push_back({{"specific_internal_energy", specific, "internal energy of a mass of gas"},
                 solvers::internal_energy,
                 true,
                 energy});
  if (units.temperature > 0.0)
    all.push_back({{"temperature", "K", "of the gas"}, solvers::internal_energy, true, units.temperature});
  if (units.mean_density > 0.0)
    all.push_back({{"gas_overdensity", "1", "density of the gas in units of its mean"},
                   solvers::density,
                   false,
                   1.0 / units.mean_density});
  return all;
}

std::vector<mesh::Quantity> quantities_in(const std::vector<GasQuantity>& table) {
  std::vector<mesh::Quantity> all;
  for (const GasQuantity& gas : table) all.push_back(gas.quantity);
  return all;
}

const GasQuantity* find(const std::vector<GasQuantity>& table, const std::string& name) {
  const auto found = std::ranges::find_if(table, [&](const GasQuantity& gas) { return gas.quantity.name == name; });
  return found == table.end() ? nullptr : &*found;
}

namespace {

// Where somebody has read the temperature, it is not found again.
void add_of_temperature(const GasQuantity& gas, mesh::Snapshot& snapshot) {
  snapshot.add_derived(gas.quantity, {"gas_density", "temperature"},
                       [row = gas.of_temperature](const mesh::Box& box, std::span<const core::View4<const double>> of,
                                                  const core::View4<double>& out) {
                         const auto width = static_cast<std::size_t>(box.extent().x);
                         core::for_each_row(box, [&](int k, int j) {
                           row(width, &of[0](k, j, box.lo.x), &of[1](k, j, box.lo.x), &out(k, j, box.lo.x));
                         });
                       });
}

}  // namespace

void add_gas(const std::vector<GasQuantity>& table, const std::vector<mesh::FieldView<const double>>& state,
             mesh::Snapshot& snapshot) {
  for (const GasQuantity& gas : table) {
    if (gas.of_temperature)
      add_of_temperature(gas, snapshot);
    else if (gas.is_stored())
      snapshot.add_stored(gas.quantity, state, gas.component, gas.factor);
    else
      snapshot.add_computed(gas.quantity,
                            [gas, state](int level, const mesh::Box& box, const core::View4<double>& out) {
                              gas.write(state[static_cast<std::size_t>(level)].view_on(box), box, out);
                            });
  }
}

}  // namespace sidestream::sims
