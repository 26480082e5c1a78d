#pragma once

#include <string>

namespace sidestream::core {

/// Throws core::Error where `text`, TOML of `source`, is nested deeper, or has a longer name with dots, than any
/// configuration: the parser, which calls itself at each level, would run out of stack.
void require_shallow(const std::string& text, const std::string& source);

/// Throws an Error with the line unless `text` is UTF-8, as TOML is: the parser would read beyond its end.
void require_utf8(const std::string& text, const std::string& source);

}  // namespace sidestream::core
