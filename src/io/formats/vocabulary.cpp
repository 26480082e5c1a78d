#include "io/formats/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace sidestream::io {

namespace {

constexpr std::array words{
    Word{"density", "dens", "Density"},
    Word{"xmom", "momx", "MomentumDensity1"},
    Word{"ymom", "momy", "MomentumDensity2"},
    Word{"zmom", "momz", "MomentumDensity3"},
    Word{"rho_E", "rhoe", "TotalEnergyDensity"},
    Word{"rho_e", "rhei", "GasEnergyDensity"},
    Word{"x_velocity", "velx", "x-velocity"},
    Word{"y_velocity", "vely", "y-velocity"},
    Word{"z_velocity", "velz", "z-velocity"},
    Word{"specific_total_energy", "ener", "TotalEnergy"},
    Word{"specific_internal_energy", "eint", "GasEnergy"},
    Word{"pressure", "pres", "Pressure"},
    Word{"Temp", "temp", "Temperature"},
    Word{"phi_grav", "gpot", "PotentialField"},
    Word{"particle_mass_density", "pden", "Dark_Matter_Density"},
};

const Word* find(std::string_view Word::*language, std::string_view text) {
  const auto found = std::ranges::find_if(words, [&](const Word& word) { return word.*language == text; });
  return found == words.end() ? nullptr : &*found;
}

}  // namespace

std::string flash_name(std::string_view name) {
  if (const Word* word = find(&Word::name, name)) return std::string(word->flash);
  std::string four;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 && four.size() < 4)
      four += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  four.resize(4, ' ');
  return four;
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
