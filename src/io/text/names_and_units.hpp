#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sidestream::io {

/// What has a name and a unit, in JSON: [["gas_density", "g/cm^3"], ...].
nlohmann::json names_and_units(const auto& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& entry : entries) list.push_back({entry.name, entry.unit});
  return list;
}

/// And back; what else an entry has is as it is made. Throws nlohmann::json::exception.
template <typename Entry>
std::vector<Entry> named(const nlohmann::json& list) {
  std::vector<Entry> entries;
  for (const nlohmann::json& entry : list) {
    entries.emplace_back();
    entries.back().name = entry.at(0).template get<std::string>();
    entries.back().unit = entry.at(1).template get<std::string>();
  }
  return entries;
}

}  // namespace sidestream::io
