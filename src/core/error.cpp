#include "sidestream/core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sidestream::core {

namespace {

// Bytes of the character of UTF-8 that `text` begins with; 0 where it begins with none.
std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool is_overlong = length > 2 && ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90));
  const bool is_none = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return is_overlong || is_none ? 0 : length;
}

// Names of users and bytes of files as a terminal and a parser of text can take them: what is no text, or controls the
// terminal, as \x1b. Lines stay lines.
std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0 || (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f)
      out += fmt::format("\\x{:02x}", first);
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string full_text(const std::string& message, const std::string& where, const std::string& hint) {
  std::string text = "error: " + message;
  if (!where.empty()) text += fmt::format("\n  --> {}", where);
  if (!hint.empty()) text += fmt::format("\nhint: {}", hint);
  return text;
}

}  // namespace

Error::Error(std::string what, std::string where, std::string hint)
    : std::runtime_error(full_text(printable(what), printable(where), printable(hint))),
      message_(printable(what)),
      where_(printable(where)),
      hint_(printable(hint)) {}

}  // namespace sidestream::core
