#include "io/formats/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "sidestream/io/quantity_names.hpp"

namespace sidestream::io {

namespace {

constexpr std::array words{
    Word{"gas_density", "density", "dens", "Density"},
    Word{"gas_momentum_x", "xmom", "momx", "MomentumDensity1"},
    Word{"gas_momentum_y", "ymom", "momy", "MomentumDensity2"},
    Word{"gas_momentum_z", "zmom", "momz", "MomentumDensity3"},
    Word{"gas_total_energy", "rho_E", "rhoe", "TotalEnergyDensity"},
    Word{"gas_internal_energy", "rho_e", "rhei", "GasEnergyDensity"},
    Word{"velocity_x", "x_velocity", "velx", "x-velocity"},
    Word{"velocity_y", "y_velocity", "vely", "y-velocity"},
    Word{"velocity_z", "z_velocity", "velz", "z-velocity"},
    Word{"specific_total_energy", "specific_total_energy", "ener", "TotalEnergy"},
    Word{"specific_internal_energy", "specific_internal_energy", "eint", "GasEnergy"},
    Word{"pressure", "pressure", "pres", "Pressure"},
    Word{"temperature", "Temp", "temp", "Temperature"},
    Word{"electron_fraction", "Ne", "elef", "ElectronFraction"},
    Word{"potential", "phi_grav", "gpot", "PotentialField"},
    Word{"dark_matter_density", "particle_mass_density", "pden", "Dark_Matter_Density"},
};

const Word* find(std::string_view Word::*language, std::string_view text) {
  const auto found = std::ranges::find_if(words, [&](const Word& word) { return word.*language == text; });
  return found == words.end() ? nullptr : &*found;
}

}  // namespace

std::string file_name_of(const std::string& quantity) {
  const Word* word = find(&Word::quantity, quantity);
  return word != nullptr ? std::string(word->name) : quantity;
}

std::string quantity_of(const std::string& file_name) {
  const Word* word = find(&Word::name, file_name);
  return word != nullptr ? std::string(word->quantity) : file_name;
}

std::optional<std::string> quantity_called(const std::string& name) {
  for (const Word& word : words)
    if (word.name == name || word.enzo == name) return std::string(word.quantity);
  return std::nullopt;
}

std::vector<std::string> usual_quantities(const std::vector<std::string>& usual,
                                          const std::vector<std::string>& known) {
  static const std::vector<std::string> standard{"gas_density",         "gas_momentum_x",   "gas_momentum_y",
                                                 "gas_momentum_z",      "gas_total_energy", "gas_internal_energy",
                                                 "temperature",         "velocity_x",       "velocity_y",
                                                 "velocity_z",          "pressure",         "potential",
                                                 "dark_matter_density", "electron_fraction"};
  std::vector<std::string> wanted;
  for (const std::string& name : usual) wanted.push_back(quantity_of(name));
  const auto both = [&](const std::vector<std::string>& names) {
    std::vector<std::string> found;
    std::ranges::copy_if(names, std::back_inserter(found),
                         [&](const std::string& name) { return std::ranges::find(known, name) != known.end(); });
    return found;
  };
  const std::vector<std::string> chosen = both(wanted);
  return chosen.empty() ? both(standard) : chosen;
}

std::string flash_name(std::string_view name) {
  if (const Word* word = find(&Word::name, name)) return std::string(word->flash);
  std::string four;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 && four.size() < 4)
      four += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  four.resize(4, ' ');
  return four;
}

std::vector<std::string> flash_words() {
  std::vector<std::string> all;
  for (const Word& word : words) all.emplace_back(word.flash);
  return all;
}

std::string enzo_name(std::string_view name) {
  const Word* word = find(&Word::name, name);
  return std::string(word != nullptr ? word->enzo : name);
}

std::string name_of_flash(std::string_view flash) {
  const Word* word = find(&Word::flash, flash);
  return std::string(word != nullptr ? word->name : flash);
}

std::string name_of_enzo(std::string_view enzo) {
  const Word* word = find(&Word::enzo, enzo);
  return std::string(word != nullptr ? word->name : enzo);
}

}  // namespace sidestream::io
