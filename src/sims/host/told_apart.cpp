#include "sims/host/told_apart.hpp"

#include <fmt/format.h>

#include <limits>

namespace sidestream::sims {

std::pair<std::string, std::string> told_apart(double one, double other) {
  constexpr int usual = 6, all = std::numeric_limits<double>::max_digits10;
  std::pair<std::string, std::string> told;
  for (int digits = usual; digits <= all && told.first == told.second; ++digits)
    told = {fmt::format("{:.{}g}", one, digits), fmt::format("{:.{}g}", other, digits)};
  return told;
}

}  // namespace sidestream::sims
