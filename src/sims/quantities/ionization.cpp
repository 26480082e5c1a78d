#include "sims/quantities/ionization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "sidestream/analysis/density.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"

namespace sidestream::sims {

namespace {

using solvers::GasEquilibrium;

struct Ionized {
  mesh::Quantity quantity;
  std::span<double> GasEquilibrium::*of;
  bool is_number_density = false;
};

const std::array<Ionized, 4>& ionized() {
  static const std::array<Ionized, 4> all{{
      {{"temperature", "K", "of the gas"}, &GasEquilibrium::temperature},
      {{"electron_fraction", "1", "free electrons for each hydrogen nucleus"}, &GasEquilibrium::electrons},
      {{"neutral_hydrogen", "1/cm^3", "hydrogen atoms in a proper volume"}, &GasEquilibrium::hi, true},
      {{"singly_ionized_helium", "1/cm^3", "helium ions of charge 1 in a proper volume"}, &GasEquilibrium::heii, true},
  }};
  return all;
}

/// Gas in equilibrium at one redshift, by density and temperature or specific energy.
struct IonizedGas {
  std::shared_ptr<const solvers::HeatingCooling> physics;
  solvers::HeatingCooling::Epoch epoch;
  bool has_temperature;

  void equilibrium(std::span<const double> density, std::span<const double> warmth, const GasEquilibrium& out) const {
    if (has_temperature)
      epoch.equilibrium_at_temperature(density, warmth, out);
    else
      epoch.equilibrium(density, warmth, out);
  }

  // A row that holds no gas somewhere is done cell by cell.
  void fill(const Ionized& wanted, std::span<const double> density, std::span<const double> warmth,
            std::span<double> out) const {
    GasEquilibrium row;
    row.*wanted.of = out;
    try {
      equilibrium(density, warmth, row);
    } catch (const core::Error&) {
      if (out.size() == 1) {
        out[0] = std::numeric_limits<double>::quiet_NaN();
        return;
      }
      for (std::size_t i = 0; i < out.size(); ++i)
        fill(wanted, density.subspan(i, 1), warmth.subspan(i, 1), out.subspan(i, 1));
      return;
    }
    if (!wanted.is_number_density) return;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= density[i] * epoch.moment().hydrogen_per_density;
  }
};

solvers::GasUnits proper_units(double redshift) {
  namespace units = core::units;
  const double a = solvers::scale_factor(redshift);
  return {units::gram_per_cm3 / (a * a * a), units::erg_per_gram, units::seconds_per_time_unit};
}

// The mean of the gas takes the place of omega_b, which files do not tell.
solvers::CosmologyParameters universe_of(const comm::Communicator& comm, const mesh::Snapshot& file,
                                         bool needs_baryons) {
  solvers::CosmologyParameters universe;
  universe.omega_m = file.moment.attribute("omega_m");
  universe.hubble = file.moment.attribute("hubble");
  if (needs_baryons)
    universe.omega_b = analysis::mean(comm, analysis::field_or_total(file, "gas_density"), "gas_density") /
                       universe.critical_density();
  return universe;
}

const core::Node& key_of_background(const core::Node& heating) {
  const core::Node* const given = heating.find("uv_background");
  return given != nullptr ? *given : heating;
}

double redshift_of(const solvers::UvBackground::Row& row) {
  return core::pow(10.0, row.log_1z) - 1.0;
}

void check(const mesh::Snapshot& file) {
  const auto& attributes = file.moment.attributes;
  if (file.length_unit != "Mpc" || !file.moment.redshift() || !attributes.contains("hubble") ||
      !attributes.contains("omega_m"))
    throw core::Error("the file does not tell of what universe it is", file.source,
                      "for equilibrium of ionisation its format has to say redshift, omega_m, hubble and units");
  if (!file.has("gas_density") || !(file.has("temperature") || file.has("specific_internal_energy")))
    throw core::Error("the file does not tell how dense and how warm its gas is", file.source,
                      "equilibrium of ionisation takes density, and temperature or energy");
}

}  // namespace

core::Table<solvers::HeatingConfig> ionization_table() {
  auto table = solvers::heating_table();
  table.leave_out("temperature_floor");
  return table;
}

solvers::UvBackground named_background(const std::string& name, const core::Node& heating) {
  try {
    return solvers::make_uv_background(name);
  } catch (const core::Error& error) {
    const core::Node* const given = heating.find("uv_background");
    if (given == nullptr || !error.where().empty()) throw;
    throw core::Error(error.message(), given->where(), error.hint());
  }
}

void check_has_set_in(const solvers::UvBackground& background, const BackgroundUse& use, const core::Node& heating) {
  const double last = redshift_of(background.rows().back());
  if (last <= use.redshift)
    core::reject(key_of_background(heating),
                 fmt::format("the background ends at z = {:.4g}, and {} z = {:.4g}", last, use.whose, use.redshift),
                 "without light there is nothing to heat or ionise: leave `[heating]` out, or take another table");
}

void check_goes_on(const solvers::UvBackground& background, const BackgroundUse& use, const core::Node& heating) {
  const double first = redshift_of(background.rows().front());
  constexpr double rounding = 1e-3;  // tables have few digits
  if (first > std::max(use.redshift, 0.0) + rounding)
    core::reject(
        key_of_background(heating),
        fmt::format("the background is known from z = {:.4g} on, and {} z = {:.4g}", first, use.whose, use.redshift),
        "end the run earlier, add rows to the table, or take another");
}

void tell_heating(const solvers::HeatingConfig& config, mesh::Moment& moment) {
  moment.words["uv_background"] = config.uv_background;
  moment.words["rates"] = config.rates;
  moment.words["self_shielding"] = config.self_shielding ? "true" : "false";
  moment.attributes["ionization_factor"] = config.ionization_factor;
  moment.attributes["heating_factor"] = config.heating_factor;
  moment.attributes["heating_exponent"] = config.heating_exponent;
  for (const char* const name : {"hydrogen_reionization", "helium_reionization"}) moment.attributes.erase(name);
  if (config.hydrogen_reionization) moment.attributes["hydrogen_reionization"] = *config.hydrogen_reionization;
  if (config.helium_reionization) moment.attributes["helium_reionization"] = *config.helium_reionization;
}

const std::vector<std::string>& ionization_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Ionized& one : ionized()) all.push_back(one.quantity.name);
    return all;
  }();
  return names;
}

solvers::HeatingCooling::Epoch Ionization::gas() const {
  return physics->at(redshift, proper_units(redshift));
}

Ionization add_ionization(const comm::Communicator& comm, const solvers::HeatingConfig& config,
                          const std::vector<std::string>& but, mesh::Snapshot& file) {
  comm.agree_on([&] { check(file); });
  const solvers::CosmologyParameters universe = universe_of(comm, file, config.self_shielding);
  std::shared_ptr<const solvers::HeatingCooling> physics;
  comm.agree_on([&] { physics = std::make_shared<const solvers::HeatingCooling>(config, universe); });
  tell_heating(config, file.moment);
  Ionization added{config, {}, physics, *file.moment.redshift()};
  // The temperature comes first: what else there is follows from it.
  for (const Ionized& one : ionized()) {
    if (file.has(one.quantity.name) || std::ranges::find(but, one.quantity.name) != but.end()) continue;
    const IonizedGas gas{physics, added.gas(), file.has("temperature")};
    added.names.push_back(one.quantity.name);
    file.add_derived(one.quantity, {"gas_density", gas.has_temperature ? "temperature" : "specific_internal_energy"},
                     [gas, one](const mesh::Box& box, std::span<const core::View4<const double>> from,
                                const core::View4<double>& out) {
                       const auto width = static_cast<std::size_t>(box.extent().x);
                       core::for_each_row(box, [&](int k, int j) {
                         gas.fill(one, {&from[0](k, j, box.lo.x), width}, {&from[1](k, j, box.lo.x), width},
                                  {&out(k, j, box.lo.x), width});
                       });
                     });
  }
  return added;
}

}  // namespace sidestream::sims
