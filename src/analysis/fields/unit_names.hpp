#pragma once

#include <string>

namespace sidestream::analysis {

/// `unit`, or "1" where it is empty.
std::string unit_or_one(const std::string& unit);

/// The unit of a product, where "1" is none.
std::string unit_product(const std::string& a, const std::string& b);

/// The unit of a power: "Mpc^3", "(km/s)^2".
std::string unit_power(const std::string& unit, int power);

}  // namespace sidestream::analysis
