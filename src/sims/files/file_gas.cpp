#include "sims/files/file_gas.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "sidestream/core/for_each.hpp"

namespace sidestream::sims {

namespace {

const char* const gas_density = "gas_density";

bool has_unit(const std::string& unit) {
  return !unit.empty() && unit != "1";
}

// "Msun/Mpc^3" and "km/s" as "Msun/Mpc^3 km/s".
std::string unit_of_product(const std::string& density, const std::string& of_mass) {
  if (!has_unit(density)) return of_mass;
  return has_unit(of_mass) ? density + " " + of_mass : density;
}

// The other way round; of another unit, nothing is said.
std::string unit_of_quotient(const std::string& of_volume, const std::string& density) {
  if (!has_unit(density)) return of_volume;
  return of_volume.starts_with(density + " ") ? of_volume.substr(density.size() + 1) : "";
}

template <typename Combine>
mesh::Snapshot::Derivation of_two(Combine combine) {
  return
      [combine](const mesh::Box& box, std::span<const core::View4<const double>> of, const core::View4<double>& out) {
        core::for_each_cell(box, [&](int k, int j, int i) { out(k, j, i) = combine(of[0](k, j, i), of[1](k, j, i)); });
      };
}

// What is there, or the user derives himself, stays.
class GasOfFile {
 public:
  GasOfFile(const std::vector<std::string>& but, mesh::Snapshot& file, Sources& sources)
      : but_(but), file_(file), sources_(sources) {}

  void add_of_volume(const std::string& name, const std::string& of_mass, const std::string& meaning) {
    if (!lacks(name, {of_mass, gas_density})) return;
    add({name, unit_of_product(unit(gas_density), unit(of_mass)), meaning}, {of_mass, gas_density},
        of_two(std::multiplies<>()));
  }
  void add_of_mass(const std::string& name, const std::string& of_volume, const std::string& meaning) {
    if (!lacks(name, {of_volume, gas_density})) return;
    add({name, unit_of_quotient(unit(of_volume), unit(gas_density)), meaning}, {of_volume, gas_density},
        of_two(std::divides<>()));
  }
  void add_pressure() {
    const std::string energy = "gas_internal_energy";
    if (!lacks("pressure", {energy})) return;
    add({"pressure", unit(energy), "of the gas"}, {energy},
        [factor = file_.gamma - 1.0](const mesh::Box& box, std::span<const core::View4<const double>> of,
                                     const core::View4<double>& out) {
          core::for_each_cell(box, [&](int k, int j, int i) { out(k, j, i) = factor * of[0](k, j, i); });
        });
  }

 private:
  const std::string& unit(const std::string& name) const { return file_.quantity(name).unit; }

  bool lacks(const std::string& name, const std::vector<std::string>& of) const {
    return !file_.has(name) && std::ranges::find(but_, name) == but_.end() &&
           std::ranges::all_of(of, [&](const std::string& one) { return file_.has(one); });
  }

  void add(mesh::Quantity quantity, const std::vector<std::string>& of, mesh::Snapshot::Derivation derive) {
    sources_[quantity.name] = of;
    file_.add_derived(std::move(quantity), of, std::move(derive));
  }

  const std::vector<std::string>& but_;
  mesh::Snapshot& file_;
  Sources& sources_;
};

}  // namespace

void add_gas_quantities(const std::vector<std::string>& but, mesh::Snapshot& file, Sources& sources) {
  GasOfFile gas(but, file, sources);
  for (const char axis : {'x', 'y', 'z'})
    gas.add_of_volume(std::string("gas_momentum_") + axis, std::string("velocity_") + axis,
                      std::string("momentum in a volume along ") + axis);
  gas.add_of_mass("specific_total_energy", "gas_total_energy", "internal and kinetic energy of a mass of gas");
  gas.add_of_volume("gas_total_energy", "specific_total_energy", "internal and kinetic energy in a volume");
  gas.add_of_volume("gas_internal_energy", "specific_internal_energy", "internal energy in a volume");
  gas.add_pressure();
}

}  // namespace sidestream::sims
