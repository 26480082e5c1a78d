#include "io/initial/gadget_header.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "io/containers/hdf5/hdf5_signature.hpp"
#include "io/formats/flash/flash_units.hpp"
#include "io/initial/paths.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr double cm_per_km = 1e5;
// The units of mass and velocity that Gadget's manual proposes, where a file says nothing of units.
constexpr double cm_per_kpc = 1e-3 * cm_per_mpc, standard_mass = 1e10 * grams_per_msun, standard_velocity = 1e5;

using Names = std::initializer_list<const char*>;

// Programs keep the same numbers in different groups, under different names.
std::optional<double> find_number(const Hdf5Reader& file, Names names) {
  for (const char* const group : {"Header", "Parameters", "Cosmology", "Units"})
    for (const char* const name : names)
      if (const auto numbers = numbers_of_attribute(file, group, name)) return numbers->front();
  return std::nullopt;
}

std::vector<double> required_numbers(const Hdf5Reader& file, const char* name) {
  const auto numbers = numbers_of_attribute(file, "Header", name);
  if (!numbers)
    throw core::Error(fmt::format("the header has no `{}`", name), file.path(),
                      "the file is damaged, or of another program");
  return *numbers;
}

std::vector<std::int64_t> counts_of(const Hdf5Reader& file, const char* name, const std::vector<double>& numbers) {
  std::vector<std::int64_t> counts;
  for (const double number : numbers) {
    if (!(number >= 0.0 && number < 0x1p53))
      throw core::Error(fmt::format("`{}` has the number {}", name, number), file.path(), "the file is damaged");
    counts.push_back(static_cast<std::int64_t>(number));
  }
  return counts;
}

void read_counts(const Hdf5Reader& file, GadgetHeader& header) {
  header.particles_here = counts_of(file, "NumPart_ThisFile", required_numbers(file, "NumPart_ThisFile"));
  std::vector<double> total = required_numbers(file, "NumPart_Total");
  if (const auto high = numbers_of_attribute(file, "Header", "NumPart_Total_HighWord"))
    for (std::size_t type = 0; type < std::min(total.size(), high->size()); ++type)
      if (total[type] < 0x1p32) total[type] += (*high)[type] * 0x1p32;
  header.particles = counts_of(file, "NumPart_Total", total);
  header.mass_table = numbers_of_attribute(file, "Header", "MassTable")
                          .value_or(std::vector<double>(header.particles_here.size(), 0.0));
  if (header.particles.size() != header.particles_here.size() ||
      header.mass_table.size() != header.particles_here.size())
    throw core::Error("the arrays of the header are not equally long", file.path(), "the file is damaged");
  const double files = find_number(file, {"NumFilesPerSnapshot"}).value_or(1.0);
  constexpr double most_files = 1 << 20;
  if (!(files >= 1.0 && files <= most_files))
    throw core::Error(fmt::format("the header speaks of {} files", files), file.path(), "the file is damaged");
  header.files = static_cast<std::int64_t>(files);
  constexpr std::size_t dark_types = 6;
  for (std::size_t type = dark_types; type < header.particles.size(); ++type)
    if (header.particles[type] > 0)
      throw core::Error(fmt::format("there are particles of type {}: neutrinos", type), file.path(),
                        "make initial conditions without neutrinos: all matter is gas or cold dark matter here");
}

// The length of a file that says nothing of units: kpc/h, or Mpc/h where that makes the box the wanted one.
double guessed_length(double box, double hubble, const InitialAssumptions& assumptions) {
  const double in_mpc = box / hubble;
  const bool is_mpc = std::abs(in_mpc - assumptions.box_mpc) < 1e-3 * assumptions.box_mpc;
  return (is_mpc ? cm_per_mpc : cm_per_kpc) / cm_per_mpc / hubble;
}

// SWIFT: no factors of h, peculiar velocities. Gadget and Arepo: lengths and masses over h, velocities over sqrt(a).
GadgetUnits units_of(const Hdf5Reader& file, double box, const GadgetHeader& header,
                     const InitialAssumptions& assumptions) {
  const auto swift_length = find_number(file, {"Unit length in cgs (U_L)"});
  const auto swift_mass = find_number(file, {"Unit mass in cgs (U_M)"});
  const auto swift_time = find_number(file, {"Unit time in cgs (U_t)"});
  if (swift_length && swift_mass && swift_time) {
    const double velocity = *swift_length / *swift_time / cm_per_km;
    return {*swift_length / cm_per_mpc, *swift_mass / grams_per_msun, velocity, velocity * velocity};
  }
  const double hubble = header.universe.hubble.value_or(assumptions.hubble);
  const auto length = find_number(file, {"UnitLength_in_cm"}), mass = find_number(file, {"UnitMass_in_g"});
  const double velocity = find_number(file, {"UnitVelocity_in_cm_per_s"}).value_or(standard_velocity) / cm_per_km;
  return {length ? *length / cm_per_mpc / hubble : guessed_length(box, hubble, assumptions),
          mass.value_or(standard_mass) / grams_per_msun / hubble, velocity * std::sqrt(header.scale_factor),
          velocity * velocity};
}

// Gadget and Arepo keep the scale factor as `Time`; files in which it is 0 leave that to the redshift.
void check_time(const Hdf5Reader& file, const std::optional<double>& redshift) {
  constexpr double largest_difference = 1e-4;  // programs round what they print into headers
  const auto time = numbers_of_attribute(file, "Header", "Time");
  if (!redshift || !time || time->front() == 0.0 || find_number(file, {"Unit length in cgs (U_L)"})) return;
  if (std::abs(time->front() * (1.0 + *redshift) - 1.0) <= largest_difference) return;
  throw core::Error(
      fmt::format("the header contradicts itself: `Time`, the scale factor, is {:.9g} and `Redshift` {:.9g}",
                  time->front(), *redshift),
      file.path(), fmt::format("the scale factor of that redshift is {:.9g}", 1.0 / (1.0 + *redshift)));
}

void check_units(const GadgetUnits& units, const std::string& path) {
  for (const double unit : {units.length, units.mass, units.velocity, units.energy})
    if (!(std::isfinite(unit) && unit > 0.0))
      throw core::Error("a unit of the file is not above zero", path, "look at its header");
}

}  // namespace

GadgetHeader read_gadget_header(const Hdf5Reader& file, const InitialAssumptions& assumptions) {
  GadgetHeader header;
  read_counts(file, header);
  InitialDescription& universe = header.universe;
  universe.omega_m = find_number(file, {"Omega0", "Omega_m"});
  universe.omega_b = find_number(file, {"OmegaBaryon", "Omega_b"});
  universe.omega_lambda = find_number(file, {"OmegaLambda", "Omega_lambda"});
  universe.hubble = find_number(file, {"HubbleParam", "h"});
  universe.redshift = find_number(file, {"Redshift"});
  check_time(file, universe.redshift);
  header.scale_factor = 1.0 / (1.0 + universe.redshift.value_or(assumptions.redshift));
  const std::vector<double> box = required_numbers(file, "BoxSize");
  header.units = units_of(file, box.front(), header, assumptions);
  check_units(header.units, file.path());
  for (std::size_t axis = 0; axis < 3; ++axis)
    universe.box_mpc[axis] = header.units.length * (box.size() == 3 ? box[axis] : box.front());
  return header;
}

double comoving_energy_factor(const Hdf5Reader& file, const std::string& dataset, double scale_factor) {
  const auto exponent = numbers_of_attribute(file, dataset, "a-scale exponent");
  return exponent ? core::pow(scale_factor, exponent->front()) : 1.0;
}

bool is_hdf5(const std::string& path) {
  return is_file(path) && begin_of_hdf5(InputFile(path)).has_value();
}

}  // namespace sidestream::io
