#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sidestream::couple {

/// Throws core::Error: a message is damaged, or of another program.
[[noreturn]] void refuse_message(const std::string& what);

/// What `decode` makes of a message; of one of another shape it is a core::Error instead of an exception of the
/// library.
template <typename F>
auto understood(F decode) {
  try {
    return decode();
  } catch (const nlohmann::json::exception& problem) {
    refuse_message(problem.what());
  }
}

}  // namespace sidestream::couple
