#include "analysis/fields/unit_names.hpp"

#include <fmt/format.h>

namespace sidestream::analysis {

std::string unit_or_one(const std::string& unit) {
  return unit.empty() ? std::string("1") : unit;
}

std::string unit_product(const std::string& a, const std::string& b) {
  if (a == "1") return b;
  return b == "1" ? a : a + " " + b;
}

std::string unit_power(const std::string& unit, int power) {
  if (unit == "1" || power == 0) return "1";
  if (power == 1) return unit;
  return unit.find('/') == std::string::npos ? fmt::format("{}^{}", unit, power) : fmt::format("({})^{}", unit, power);
}

}  // namespace sidestream::analysis
