#include "analysis/fields/unit_names.hpp"

#include <fmt/format.h>

namespace sidestream::analysis {

std::string unit_product(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return "";
  if (a == "1") return b;
  return b == "1" ? a : a + " " + b;
}

std::string unit_power(const std::string& unit, int power) {
  if (unit == "1" || power == 0) return "1";
  if (unit.empty() || power == 1) return unit;
  return unit.find('/') == std::string::npos ? fmt::format("{}^{}", unit, power) : fmt::format("({})^{}", unit, power);
}

std::string unit_of_mass(const std::string& density, const std::string& length) {
  const std::string per_volume = fmt::format("/{}", unit_power(length, 3));
  if (length.empty() || !density.ends_with(per_volume)) return "";
  return density.substr(0, density.size() - per_volume.size());
}

}  // namespace sidestream::analysis
