#include "sidestream/io/common_units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
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

// A kind of quantity, which is a product of densities, velocities and so on, by its unit in cgs and in ours.
struct Kind {
  const char *cgs, *ours;
  int densities, velocities, masses, lengths, temperatures;

  // Of g, cm, s and K.
  std::array<int, 4> powers() const {
    return {densities + masses, velocities + lengths - 3 * densities, -velocities, temperatures};
  }
};
constexpr std::array kinds{
    Kind{"g/cm^3", "Msun/Mpc^3", 1, 0, 0, 0, 0},
    Kind{"cm/s", "km/s", 0, 1, 0, 0, 0},
    Kind{"(cm/s)^2", "(km/s)^2", 0, 2, 0, 0, 0},
    Kind{"cm^2/s^2", "(km/s)^2", 0, 2, 0, 0, 0},
    Kind{"erg/g", "(km/s)^2", 0, 2, 0, 0, 0},
    Kind{"g/cm^3 cm/s", "Msun/Mpc^3 km/s", 1, 1, 0, 0, 0},
    Kind{"g/cm^2/s", "Msun/Mpc^3 km/s", 1, 1, 0, 0, 0},
    Kind{"g/cm^3 (cm/s)^2", "Msun/Mpc^3 (km/s)^2", 1, 2, 0, 0, 0},
    Kind{"erg/cm^3", "Msun/Mpc^3 (km/s)^2", 1, 2, 0, 0, 0},
    Kind{"g", "Msun", 0, 0, 1, 0, 0},
    Kind{"cm", "Mpc", 0, 0, 0, 1, 0},
    Kind{"K", "K", 0, 0, 0, 0, 1},
};

// Of a number in comoving cgs, where velocities are v/a and temperatures T/a^2, to our unit.
double ours_of_comoving_cgs(const Kind& kind, double a) {
  const double density = core::pow(cm_per_mpc, 3) / grams_per_msun;
  return core::pow(density, kind.densities) * core::pow(a / cm_per_km, kind.velocities) *
         core::pow(1.0 / grams_per_msun, kind.masses) * core::pow(1.0 / cm_per_mpc, kind.lengths) *
         core::pow(a * a, kind.temperatures);
}

struct KnownUnit {
  const Kind* kind;
  double cgs;  // a unit of it in cgs
};

// Which of g, cm, s and K a name stands for, and how many of it.
std::optional<std::pair<std::size_t, double>> in_cgs(const std::string& name) {
  struct Size {
    const char* name;
    std::size_t of;
    double cgs;
  };
  static constexpr std::array sizes{Size{"Msun", 0, grams_per_msun},
                                    Size{"kg", 0, 1e3},
                                    Size{"g", 0, 1.0},
                                    Size{"Mpc", 1, cm_per_mpc},
                                    Size{"kpc", 1, 1e-3 * cm_per_mpc},
                                    Size{"pc", 1, 1e-6 * cm_per_mpc},
                                    Size{"km", 1, cm_per_km},
                                    Size{"m", 1, 1e2},
                                    Size{"cm", 1, 1.0},
                                    Size{"s", 2, 1.0},
                                    Size{"K", 3, 1.0}};
  const auto found = std::ranges::find_if(sizes, [&](const Size& size) { return name == size.name; });
  return found != sizes.end() ? std::optional(std::pair(found->of, found->cgs)) : std::nullopt;
}

std::optional<KnownUnit> known_unit(const std::string& unit) {
  for (const Kind& kind : kinds) {
    if (unit == kind.cgs) return KnownUnit{&kind, 1.0};
    if (unit == kind.ours) return KnownUnit{&kind, 1.0 / ours_of_comoving_cgs(kind, 1.0)};
  }
  const auto names = unit_powers(unit);
  if (!names) return std::nullopt;
  std::array<int, 4> powers{};
  double cgs = 1.0;
  for (const auto& [name, power] : *names) {
    const auto of = in_cgs(name);
    if (!of) return std::nullopt;
    powers[of->first] += power;
    cgs *= core::pow(of->second, power);
  }
  const auto kind = std::ranges::find_if(kinds, [&](const Kind& one) { return one.powers() == powers; });
  return kind != kinds.end() ? std::optional(KnownUnit{&*kind, cgs}) : std::nullopt;
}

}  // namespace

bool is_comoving_in_cm(const mesh::Snapshot& file) {
  return file.length_unit == "cm" && (file.moment.attributes.contains("hubble") || scale_factor(file) != 1.0);
}

CommonUnit common_unit(const mesh::Snapshot& file, const std::string& unit) {
  const auto found = is_comoving_in_cm(file) ? known_unit(unit) : std::nullopt;
  if (!found || (unit != found->kind->cgs && canonical_unit(unit) == found->kind->ours)) return {unit, 1.0};
  return {found->kind->ours, found->cgs * ours_of_comoving_cgs(*found->kind, scale_factor(file))};
}

CommonUnit comoving_cgs(const std::string& unit, double a) {
  const auto found = known_unit(unit);
  if (!found) return {unit, 1.0};
  return {found->kind->cgs,
          found->cgs / core::pow(a, found->kind->velocities) / core::pow(a * a, found->kind->temperatures)};
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
