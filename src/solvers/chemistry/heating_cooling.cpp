#include "sidestream/solvers/heating_cooling.hpp"

#include <cmath>
#include <optional>
#include <sstream>

#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/solvers/primordial_rates.hpp"
#include "solvers/chemistry/heating_rows.hpp"
#include "solvers/chemistry/rate_table.hpp"

namespace sidestream::solvers {

namespace {

constexpr double proton_mass = 1.67262e-24;  // [g]
constexpr double boltzmann = 1.380649e-16;   // [erg/K]
constexpr double hydrogen_fraction = 0.76;   // of the mass
constexpr double helium_per_hydrogen = (1.0 - hydrogen_fraction) / (4.0 * hydrogen_fraction);
constexpr double compton_factor = 1.01765e-37;  // 4 sigma_T a_r k_B / (m_e c) [erg/s/K^5]

// No gas is beyond these: whoever gives more or less has other units.
constexpr double least_hydrogen = 1e-30, most_hydrogen = 1e12;  // [1/cm^3]
constexpr double least_theta = 1e-20, most_theta = 1e12;        // [K]

/// n_SSh of Rahmati et al. 2013 (MNRAS 430, 2427), equation 13, at T = 1 K [1/cm^3], for the mean cross section of the
/// background of Haardt & Madau 2001 at z = 3.
double shielding_density(double ionization_hi, double baryon_fraction) {
  return 6.73e-3 * core::pow(1e-4, 0.17) * core::pow(ionization_hi / 1e-12, 2.0 / 3.0) /
         core::cbrt(baryon_fraction / 0.17);
}

/// `cell`: its place in its row; none where it is alone.
std::string described(const HeatingMoment& moment, std::optional<std::size_t> cell, double density, double energy,
                      double source) {
  std::ostringstream text;
  text.precision(6);
  if (cell) text << "cell " << *cell << " of a row: ";
  text << "density " << density << " (n_H = " << density * moment.hydrogen_per_density
       << " / cm^3), specific internal energy " << energy << " (" << energy * moment.theta_per_energy
       << " K times the particles for each H), its source " << source;
  return text.str();
}

std::optional<std::size_t> place_of(std::size_t cell, std::span<const double> row) {
  return row.size() > 1 ? std::optional(cell) : std::nullopt;
}

bool is_density(double hydrogen) {
  return hydrogen >= least_hydrogen && hydrogen <= most_hydrogen;
}

bool is_warmth(double theta) {
  return theta >= least_theta && theta <= most_theta;
}

bool is_gas(double hydrogen, double theta) {
  return is_density(hydrogen) && is_warmth(theta);
}

void check(const HeatingMoment& moment, std::span<const double> density, std::span<const double> source,
           std::span<const double> energy) {
  core::require(energy.size() == density.size() && (source.empty() || source.size() == density.size()),
                "heating and cooling: density, source and energy are rows of one length");
  for (std::size_t i = 0; i < density.size(); ++i) {
    const double heat = source.empty() ? 0.0 : source[i];
    if (is_gas(density[i] * moment.hydrogen_per_density, energy[i] * moment.theta_per_energy) && std::isfinite(heat))
      continue;
    throw core::Error(
        "heating and cooling cannot go on from " + described(moment, place_of(i, density), density[i], energy[i], heat),
        "",
        "densities and energies are above zero and finite; if these look like other units, see GasUnits, "
        "else shorten the step that led here");
  }
}

void check(const GasEquilibrium& out, std::size_t cells) {
  for (const auto row : {out.temperature, out.energy, out.electrons, out.hi, out.hii, out.hei, out.heii, out.heiii,
                         out.heating, out.cooling, out.compton})
    core::require(row.empty() || row.size() == cells, "an equilibrium is as long as the rows that it is of");
}

void require_solved(int unsolved) {
  if (unsolved > 0)
    throw core::Error("the equilibrium of ionisation was not found in " + std::to_string(unsolved) + " cells of a row",
                      "", "look at their densities and energies; gas like this has not been met before");
}

}  // namespace

GasUnits supercomoving_units(double a) {
  namespace units = core::units;
  return {units::gram_per_cm3 / (a * a * a), units::erg_per_gram / (a * a), units::seconds_per_time_unit * a * a};
}

HeatingCounts& HeatingCounts::operator+=(const HeatingCounts& other) {
  cells += other.cells;
  steps += other.steps;
  at_floor += other.at_floor;
  failed += other.failed;
  if (first_failed.empty()) first_failed = other.first_failed;
  return *this;
}

HeatingCooling::HeatingCooling(const HeatingConfig& config, const CosmologyParameters& cosmology)
    : config_(config),
      cosmology_(cosmology),
      background_(make_uv_background(config.uv_background, {config.hydrogen_reionization, config.helium_reionization})),
      rates_(rate_table(rate_fits(config.rates))),
      shielding_(config.self_shielding ? shielding_table() : std::vector<double>()) {
  core::require(config.temperature_floor >= 1.0, "the temperature floor of heating and cooling is at least 1 K");
}

UvRates HeatingCooling::uv_rates(double redshift) const {
  UvRates rates = background_.at(redshift);
  for (double* rate : {&rates.ionization_hi, &rates.ionization_hei, &rates.ionization_heii})
    *rate *= config_.ionization_factor;
  for (double* rate : {&rates.heating_hi, &rates.heating_hei, &rates.heating_heii}) *rate *= config_.heating_factor;
  return rates;
}

HeatingCooling::Epoch HeatingCooling::at(double redshift, const GasUnits& units) const {
  const double one_z = 1.0 + redshift, t_cmb = cosmology_.t_cmb;
  HeatingMoment moment;
  moment.rates = rates_.data();
  moment.helium = helium_per_hydrogen;
  moment.uv = uv_rates(redshift);
  moment.compton = compton_factor * core::pow(t_cmb * one_z, 4.0);
  moment.cmb_temperature = t_cmb * one_z;
  moment.heating_exponent = config_.heating_exponent;
  moment.mean_density = cosmology_.baryon_density() * core::units::gram_per_cm3 * one_z * one_z * one_z / units.density;
  moment.hydrogen_per_density = hydrogen_fraction / proton_mass * units.density;
  moment.theta_per_energy = units.energy * proton_mass / (1.5 * boltzmann * hydrogen_fraction);
  moment.seconds_per_time = units.time;
  moment.log_floor = core::log(config_.temperature_floor);
  if (config_.self_shielding && moment.uv.ionization_hi > 0.0) {
    moment.shielding = shielding_.data();
    moment.shielding_log_density =
        core::log(shielding_density(moment.uv.ionization_hi, cosmology_.omega_b / cosmology_.omega_m));
  }
  return Epoch(moment);
}

HeatingCounts HeatingCooling::Epoch::advance(double dt, std::span<const double> density, std::span<const double> source,
                                             std::span<double> energy) const {
  check(moment_, density, source, energy);
  core::require(dt > 0.0 && std::isfinite(dt), "heating and cooling advance by a time above zero");
  const HeatingTally tally = integrate_row(moment_, static_cast<int>(density.size()), dt, density.data(),
                                           source.empty() ? nullptr : source.data(), energy.data());
  HeatingCounts counts{static_cast<std::int64_t>(density.size()), tally.steps, tally.at_floor, tally.failed, ""};
  if (tally.failed > 0) {
    const auto i = static_cast<std::size_t>(tally.first_failed);
    counts.first_failed =
        described(moment_, place_of(i, density), density[i], energy[i], source.empty() ? 0.0 : source[i]);
  }
  return counts;
}

bool HeatingCooling::Epoch::is_density_of_gas(double density) const {
  return is_density(density * moment_.hydrogen_per_density);
}

bool HeatingCooling::Epoch::is_temperature_of_gas(double temperature) const {
  return is_warmth(temperature);
}

bool HeatingCooling::Epoch::is_energy_of_gas(double energy) const {
  return is_warmth(energy * moment_.theta_per_energy);
}

void HeatingCooling::Epoch::equilibrium(std::span<const double> density, std::span<const double> energy,
                                        const GasEquilibrium& out) const {
  check(moment_, density, {}, energy);
  check(out, density.size());
  require_solved(
      equilibrium_of_energies(moment_, static_cast<int>(density.size()), density.data(), energy.data(), out));
}

void HeatingCooling::Epoch::equilibrium_at_temperature(std::span<const double> density,
                                                       std::span<const double> temperature,
                                                       const GasEquilibrium& out) const {
  core::require(density.size() == temperature.size(), "densities and temperatures are rows of one length");
  for (std::size_t i = 0; i < density.size(); ++i)
    if (!is_gas(density[i] * moment_.hydrogen_per_density, temperature[i]))
      throw core::Error("there is no gas of the density " + std::to_string(density[i]) + " and the temperature " +
                            std::to_string(temperature[i]) + " K",
                        "cell " + std::to_string(i) + " of a row", "both are above zero and finite");
  check(out, density.size());
  require_solved(
      equilibrium_of_temperatures(moment_, static_cast<int>(density.size()), density.data(), temperature.data(), out));
}

}  // namespace sidestream::solvers
