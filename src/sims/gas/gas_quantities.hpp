#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sidestream/core/view.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::sims {

/// What turns the conserved gas as a simulation keeps it into quantities.
struct GasUnits {
  double gamma = 5.0 / 3.0;
  double velocity = 1.0;      ///< of the kept velocity 1
  double temperature = 0.0;   ///< of the kept specific internal energy 1 [K]; 0: there are no temperatures
  double mean_density = 0.0;  ///< of which overdensities are multiples; 0: there are none
  bool is_cosmological = false;
};

/// A quantity of the gas: `factor` times a conserved component, a volume or a mass, or something else that follows from
/// the density and the internal energy.
struct GasQuantity {
  /// Of a row of cells, from their density and internal energy in a volume, as they are kept.
  using Row = std::function<void(std::size_t cells, const double* density, const double* warmth, double* out)>;

  mesh::Quantity quantity;
  int component = 0;
  bool is_per_mass = false;
  double factor = 1.0;
  Row row = {};             ///< takes the place of the others
  Row of_temperature = {};  ///< the same from the density and the temperature, which is a quantity of the table too

  bool is_stored() const { return !is_per_mass && !row; }

  /// Writes it on `cells` from the conserved `gas`.
  void write(core::View4<const double> gas, const mesh::Box& cells, core::View4<double> out) const;
};

/// The table of all quantities of a gas; the conserved ones, which are its state, first.
std::vector<GasQuantity> gas_quantities(const GasUnits& units);
std::vector<mesh::Quantity> quantities_in(const std::vector<GasQuantity>& table);
/// The one of this name, or null.
const GasQuantity* find(const std::vector<GasQuantity>& table, const std::string& name);

/// Adds the table to `snapshot`; `state`: the conserved components on all blocks of each level.
void add_gas(const std::vector<GasQuantity>& table, const std::vector<mesh::FieldView<const double>>& state,
             mesh::Snapshot& snapshot);

}  // namespace sidestream::sims
