#pragma once

#include <cstddef>
#include <string_view>

namespace sidestream::core {

/// Bytes of the character of UTF-8 that `text`, which is not empty, begins with; 0 where it begins with none.
std::size_t utf8_length(std::string_view text);

}  // namespace sidestream::core
