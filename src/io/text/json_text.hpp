#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sidestream::io {

/// JSON of a file at `where`. Throws nlohmann::json::exception for text that is none, and core::Error for what is
/// nested deeper than anything that Sidestream writes: to copy or write it again would take more stack than there is.
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace sidestream::io
