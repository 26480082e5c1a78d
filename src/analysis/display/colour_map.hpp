#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sidestream::analysis {

/// The colours of a colour map of matplotlib, from the lowest value to the highest: red in the lowest byte, then green,
/// blue and 255.
using ColourMap = std::vector<std::uint32_t>;

/// The map of this name, such as "viridis" or "RdBu_r". Throws core::Error with the nearest, at `where`.
ColourMap colour_map(const std::string& name, const std::string& where);

/// The names of all, in the order of the alphabet.
std::span<const std::string> colour_map_names();

}  // namespace sidestream::analysis
