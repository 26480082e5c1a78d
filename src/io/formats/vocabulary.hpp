#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sidestream::io {

/// The words of the formats for a quantity. Files of ours are written and read in the first; the formats translate.
struct Word {
  std::string_view quantity;  ///< as simulations and analyses say
  std::string_view name;      ///< as Nyx says
  std::string_view flash;     ///< four letters
  std::string_view enzo;
};

/// FLASH's name for the field `name`: from the table, or four letters made of its first ones.
std::string flash_name(std::string_view name);
/// All names of the table, which readers of FLASH files know.
std::vector<std::string> flash_words();
/// Enzo's name for the field `name`; the name itself where the table has none.
std::string enzo_name(std::string_view name);
/// Our name for a field of FLASH or Enzo; the name itself where the table has none.
std::string name_of_flash(std::string_view flash);
std::string name_of_enzo(std::string_view enzo);

}  // namespace sidestream::io
