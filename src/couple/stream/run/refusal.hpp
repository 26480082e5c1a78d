#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sidestream::couple {

/// What a run answers to a request that it does not grant.
inline nlohmann::json refusal(const std::string& reason, const std::string& hint = "") {
  return {{"kind", "refused"}, {"reason", reason}, {"hint", hint}};
}

}  // namespace sidestream::couple
