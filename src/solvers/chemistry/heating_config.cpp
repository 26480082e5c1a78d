#include <algorithm>

#include "sidestream/core/config_path.hpp"
#include "sidestream/solvers/heating_cooling.hpp"
#include "sidestream/solvers/primordial_rates.hpp"

namespace sidestream::solvers {

namespace {

std::string background_of(const core::Node& node) {
  const std::vector<std::string> names = uv_background_names();
  return std::ranges::find(names, node.text()) != names.end() ? node.text() : core::path_of(node);
}

}  // namespace

core::Table<HeatingConfig> heating_table() {
  const HeatingConfig standard;
  const auto& fits = rate_fits_names();
  core::Table<HeatingConfig> table("Heating and cooling of hydrogen and helium");
  table.parsed<std::string>("uv_background", &HeatingConfig::uv_background, standard.uv_background, background_of)
      .required()
      .doc(
          "Ionising background: onorbe17_middle, onorbe17_early, onorbe17_late, hm2012, puchwein19, fg20, or the path "
          "of a file of the kind TREECOOL");
  table.option("rates", &HeatingConfig::rates, standard.rates)
      .one_of({fits.begin(), fits.end()})
      .doc("Fits to the rates of two-body processes");
  table.option("self_shielding", &HeatingConfig::self_shielding, standard.self_shielding)
      .doc("Whether dense gas sees less of the background, as Rahmati et al. 2013 have it for H I, here He I too");
  table.option("ionization_factor", &HeatingConfig::ionization_factor, standard.ionization_factor)
      .range(0.0, 1e6)
      .doc("Multiplies the rates of photoionisation");
  table.option("heating_factor", &HeatingConfig::heating_factor, standard.heating_factor)
      .range(0.0, 1e6)
      .doc("Multiplies the rates of photoheating");
  table.option("heating_exponent", &HeatingConfig::heating_exponent, standard.heating_exponent)
      .range(-4.0, 4.0)
      .doc("Photoheating is multiplied by the density of gas over its mean to this power");
  table.option("hydrogen_reionization", &HeatingConfig::hydrogen_reionization, std::nullopt)
      .at_least(0.0)
      .doc("Redshift above which there is no light for H I and He I; without it, the table's own");
  table.option("helium_reionization", &HeatingConfig::helium_reionization, std::nullopt)
      .at_least(0.0)
      .doc("Redshift above which there is no light for He II; without it, the table's own");
  table.option("temperature_floor", &HeatingConfig::temperature_floor, standard.temperature_floor)
      .range(1.0, 1e6)
      .doc("Lowest temperature in K that cooling leaves behind");
  return table;
}

}  // namespace sidestream::solvers
