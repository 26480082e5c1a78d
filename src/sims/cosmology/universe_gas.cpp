#include "sims/cosmology/universe_gas.hpp"

#include <algorithm>
#include <span>

namespace sidestream::sims {

namespace {

using solvers::GasEquilibrium;

/// What one row of `GasEquilibrium` holds, times n_H where it is a number in a volume.
GasQuantity::Row equilibrium_row(std::shared_ptr<const solvers::HeatingCooling> heating, double a,
                                 std::span<double> GasEquilibrium::*wanted, bool is_number_density) {
  if (!heating) return [](std::size_t, const double*, const double*, double*) {};
  const solvers::HeatingCooling::Epoch epoch = heating->at(solvers::redshift(a), solvers::supercomoving_units(a));
  return [=, keep = std::move(heating)](std::size_t cells, const double* density, const double* internal, double* out) {
    std::vector<double> energy(cells);
    std::transform(internal, internal + cells, density, energy.begin(), std::divides<>());
    GasEquilibrium equilibrium;
    equilibrium.*wanted = {out, cells};
    epoch.equilibrium({density, cells}, energy, equilibrium);
    if (!is_number_density) return;
    for (std::size_t i = 0; i < cells; ++i) out[i] *= density[i] * epoch.moment().hydrogen_per_density;
  };
}

}  // namespace

std::vector<GasQuantity> universe_gas(const CosmologyConfig& config, double a,
                                      std::shared_ptr<const solvers::HeatingCooling> heating) {
  std::vector<GasQuantity> table = gas_quantities(config.gas_units(a));
  if (!config.heating) return table;
  const auto row = [&](std::span<double> GasEquilibrium::*wanted, bool is_number_density = false) {
    return equilibrium_row(heating, a, wanted, is_number_density);
  };
  std::ranges::find(table, "temperature", [](const GasQuantity& gas) { return gas.quantity.name; })->row =
      row(&GasEquilibrium::temperature);
  const auto add = [&](const char* name, const char* unit, const char* meaning, GasQuantity::Row of) {
    table.push_back({{name, unit, meaning}, 0, false, 1.0, std::move(of)});
  };
  add("electron_fraction", "1", "free electrons for each hydrogen nucleus", row(&GasEquilibrium::electrons));
  add("neutral_hydrogen", "1/cm^3", "hydrogen atoms in a proper volume", row(&GasEquilibrium::hi, true));
  add("singly_ionized_helium", "1/cm^3", "helium ions of charge 1 in a proper volume",
      row(&GasEquilibrium::heii, true));
  return table;
}

}  // namespace sidestream::sims
