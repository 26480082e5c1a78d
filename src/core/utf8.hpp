#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sidestream::core {

/// Bytes of the character of UTF-8 that `text`, which is not empty, begins with; 0 where it begins with none.
std::size_t utf8_length(std::string_view text);

/// What stands around byte `at` of a text, for messages: at most some lines, with `...` for what is left out; no
/// character is cut.
std::string excerpt(const std::string& text, std::size_t at);

}  // namespace sidestream::core
