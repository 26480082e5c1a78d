#pragma once

#include <string>

namespace sidestream::analysis {

// Names of units. That of a pure number is "1"; one that nobody told is empty, and so is what is made of it.

/// The unit of a product.
std::string unit_product(const std::string& a, const std::string& b);

/// The unit of a power: "Mpc^3", "(km/s)^2".
std::string unit_power(const std::string& unit, int power);

/// The unit of a density times a volume in cubes of `length`: "Msun" of "Msun/Mpc^3" and "Mpc". Empty for what is no
/// density in these cubes.
std::string unit_of_mass(const std::string& density, const std::string& length);

}  // namespace sidestream::analysis
