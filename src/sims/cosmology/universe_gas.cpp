#include "sims/cosmology/universe_gas.hpp"

#include <algorithm>
#include <span>

namespace sidestream::sims {

namespace {

using solvers::GasEquilibrium;

/// Gas in equilibrium of ionisation at a moment.
struct IonizedGas {
  std::shared_ptr<const solvers::HeatingCooling> heating;
  solvers::HeatingCooling::Epoch epoch;

  IonizedGas(std::shared_ptr<const solvers::HeatingCooling> physics, double a)
      : heating(std::move(physics)), epoch(heating->at(solvers::redshift(a), solvers::supercomoving_units(a))) {}

  void find_temperature(std::size_t cells, const double* density, const double* internal, double* out) const {
    std::vector<double> energy(cells);
    std::transform(internal, internal + cells, density, energy.begin(), std::divides<>());
    GasEquilibrium equilibrium;
    equilibrium.temperature = {out, cells};
    epoch.equilibrium({density, cells}, energy, equilibrium);
  }
};

/// One row of `GasEquilibrium`, times n_H where it is a number in a volume.
struct IonizedRow {
  std::span<double> GasEquilibrium::*wanted;
  bool is_number_density;

  void find(const IonizedGas& gas, std::size_t cells, const double* density, const double* temperature,
            double* out) const {
    GasEquilibrium equilibrium;
    equilibrium.*wanted = {out, cells};
    gas.epoch.equilibrium_at_temperature({density, cells}, {temperature, cells}, equilibrium);
    if (!is_number_density) return;
    for (std::size_t i = 0; i < cells; ++i) out[i] *= density[i] * gas.epoch.moment().hydrogen_per_density;
  }
};

/// Adds what follows from the temperature; `gas` is null where nobody writes it.
void add_row(const mesh::Quantity& quantity, const IonizedRow& row, const std::shared_ptr<const IonizedGas>& gas,
             std::vector<GasQuantity>& table) {
  const auto by_temperature = [=](std::size_t cells, const double* density, const double* temperature, double* out) {
    row.find(*gas, cells, density, temperature, out);
  };
  const auto by_energy = [=](std::size_t cells, const double* density, const double* internal, double* out) {
    std::vector<double> temperature(cells);
    gas->find_temperature(cells, density, internal, temperature.data());
    row.find(*gas, cells, density, temperature.data(), out);
  };
  table.push_back({quantity, 0, false, 1.0, by_energy, by_temperature});
}

}  // namespace

std::vector<GasQuantity> universe_gas(const CosmologyConfig& config, double a,
                                      std::shared_ptr<const solvers::HeatingCooling> heating) {
  std::vector<GasQuantity> table = gas_quantities(config.gas_units(a));
  if (!config.heating) return table;
  const auto gas = heating ? std::make_shared<const IonizedGas>(std::move(heating), a) : nullptr;
  std::ranges::find(table, "temperature", [](const GasQuantity& one) { return one.quantity.name; })->row =
      [gas](std::size_t cells, const double* density, const double* internal, double* out) {
        gas->find_temperature(cells, density, internal, out);
      };
  add_row({"electron_fraction", "1", "free electrons for each hydrogen nucleus"}, {&GasEquilibrium::electrons, false},
          gas, table);
  add_row({"neutral_hydrogen", "1/cm^3", "hydrogen atoms in a proper volume"}, {&GasEquilibrium::hi, true}, gas, table);
  add_row({"singly_ionized_helium", "1/cm^3", "helium ions of charge 1 in a proper volume"},
          {&GasEquilibrium::heii, true}, gas, table);
  return table;
}

}  // namespace sidestream::sims
