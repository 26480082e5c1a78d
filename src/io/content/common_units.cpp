#include "sidestream/io/common_units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "io/content/file_content.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::io {

namespace {

constexpr double cm_per_mpc = 3.085677580962325e24, grams_per_msun = 1.98841586e33, cm_per_km = 1e5;

double scale_factor(const mesh::Snapshot& file) {
  return file.moment.scale_factor.value_or(1.0);
}

// Of a conserved quantity of a checkpoint: supercomoving velocities are a times proper ones.
double factor_of_state(const mesh::Snapshot& file, const mesh::Quantity& quantity) {
  if (!quantity.is_state || file.length_unit != "Mpc") return 1.0;
  const double a = scale_factor(file);
  if (quantity.name.starts_with("gas_momentum_")) return 1.0 / a;
  if (quantity.name == "gas_total_energy" || quantity.name == "gas_internal_energy") return 1.0 / (a * a);
  return 1.0;
}

// Of a conserved quantity of a checkpoint of a universe, which leaves them out.
std::string unit_of(const mesh::Snapshot& file, const mesh::Quantity& quantity, const CommonUnit& unit) {
  if (!quantity.is_state || file.length_unit != "Mpc") return unit.name;
  if (quantity.name == "gas_density") return "Msun/Mpc^3";
  if (quantity.name.starts_with("gas_momentum_")) return "Msun/Mpc^3 km/s";
  if (quantity.name == "gas_total_energy" || quantity.name == "gas_internal_energy") return "Msun/Mpc^3 (km/s)^2";
  return unit.name;
}

using Original = std::shared_ptr<const mesh::Snapshot>;

void add_quantity(const Original& file, const mesh::Quantity& quantity, mesh::Snapshot& state) {
  const CommonUnit unit = common_unit(*file, quantity.unit);
  const double factor = unit.factor * factor_of_state(*file, quantity);
  mesh::Quantity in_common = quantity;
  in_common.unit = unit_of(*file, quantity, unit);
  state.add(std::move(in_common), [file, name = quantity.name, factor](int level) {
    const auto& blocks = file->blocks()[static_cast<std::size_t>(level)];
    auto cells = std::make_shared<mesh::Field<double>>(blocks, file->rank);
    file->read(name, level, *cells);
    if (factor != 1.0)
      for (double& value : cells->all()) value *= factor;
    return mesh::AnyField(std::shared_ptr<const mesh::Field<double>>(std::move(cells)));
  });
}

void add_species(const Original& file, const mesh::Species& species, mesh::Snapshot& state) {
  if (!is_comoving_in_cm(*file)) return state.add_species(species);
  state.add_species(mesh::Species(species.name(), [file, species] {
    mesh::Particles particles = positions_in_common_units(*file, species.take());
    particles.mass *= common_unit(*file, "g").factor;
    for (mesh::ParticleAttribute& attribute : particles.attributes) {
      const CommonUnit unit = common_unit(*file, attribute.unit);
      attribute.unit = unit.name;
      for (double& value : attribute.values) value *= unit.factor;
    }
    return particles;
  }));
}

}  // namespace

bool is_comoving_in_cm(const mesh::Snapshot& file) {
  return file.length_unit == "cm" && (file.moment.attributes.contains("hubble") || scale_factor(file) != 1.0);
}

CommonUnit common_unit(const mesh::Snapshot& file, const std::string& unit) {
  struct Row {
    const char *from, *to;
    int densities, velocities, masses, lengths, temperatures;
  };
  static constexpr std::array rows{
      Row{"g/cm^3", "Msun/Mpc^3", 1, 0, 0, 0, 0},
      Row{"cm/s", "km/s", 0, 1, 0, 0, 0},
      Row{"(cm/s)^2", "(km/s)^2", 0, 2, 0, 0, 0},
      Row{"cm^2/s^2", "(km/s)^2", 0, 2, 0, 0, 0},
      Row{"erg/g", "(km/s)^2", 0, 2, 0, 0, 0},
      Row{"g/cm^3 cm/s", "Msun/Mpc^3 km/s", 1, 1, 0, 0, 0},
      Row{"g/cm^2/s", "Msun/Mpc^3 km/s", 1, 1, 0, 0, 0},
      Row{"g/cm^3 (cm/s)^2", "Msun/Mpc^3 (km/s)^2", 1, 2, 0, 0, 0},
      Row{"erg/cm^3", "Msun/Mpc^3 (km/s)^2", 1, 2, 0, 0, 0},
      Row{"g", "Msun", 0, 0, 1, 0, 0},
      Row{"cm", "Mpc", 0, 0, 0, 1, 0},
      Row{"K", "K", 0, 0, 0, 0, 1},
  };
  const auto row = std::ranges::find_if(rows, [&](const Row& candidate) { return unit == candidate.from; });
  if (!is_comoving_in_cm(file) || row == rows.end()) return {unit, 1.0};
  const double a = scale_factor(file), density = core::pow(cm_per_mpc, 3) / grams_per_msun;
  return {row->to, core::pow(density, row->densities) * core::pow(a / cm_per_km, row->velocities) *
                       core::pow(1.0 / grams_per_msun, row->masses) * core::pow(1.0 / cm_per_mpc, row->lengths) *
                       core::pow(a * a, row->temperatures)};
}

mesh::Snapshot frame_in_common_units(const mesh::Snapshot& file) {
  mesh::Snapshot frame = without_quantities(file);
  if (is_comoving_in_cm(file)) {
    frame.moment.time *= cm_per_km / cm_per_mpc;
    for (double& length : frame.geometry.length) length /= cm_per_mpc;
    frame.length_unit = "Mpc";
  }
  frame.texts = file.texts;
  frame.source = file.source;
  return frame;
}

mesh::Particles positions_in_common_units(const mesh::Snapshot& file, mesh::Particles particles) {
  if (!is_comoving_in_cm(file)) return particles;
  const mesh::Geometry geometry = frame_in_common_units(file).geometry;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double last = std::nextafter(geometry.length[axis], 0.0);  // however a product rounds
    for (double& x : particles.position[axis]) x = std::min(x / cm_per_mpc, last);
  }
  return particles;
}

mesh::Snapshot in_common_units(mesh::Snapshot opened) {
  const auto file = std::make_shared<const mesh::Snapshot>(std::move(opened));
  mesh::Snapshot state = frame_in_common_units(*file);
  for (const mesh::Quantity& quantity : file->quantities()) add_quantity(file, quantity, state);
  for (const mesh::Species& species : file->species()) add_species(file, species, state);
  return state;
}

}  // namespace sidestream::io
