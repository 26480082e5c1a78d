#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sidestream::io {

/// The name that files have for a quantity, as Nyx says it; the quantity's own where it says nothing.
std::string file_name_of(const std::string& quantity);
/// The quantity of a name in files; the name itself where none is known by it.
std::string quantity_of(const std::string& file_name);
/// The quantity that the files of some format call `name`; nothing where none do.
std::optional<std::string> quantity_called(const std::string& name);

/// Of `known`, those that a plot file shows when nobody chooses: `usual`, names in files, as far as they are known;
/// where that is empty, the state, velocities, pressure, temperature, potential and dark matter.
std::vector<std::string> usual_quantities(const std::vector<std::string>& usual, const std::vector<std::string>& known);

}  // namespace sidestream::io
