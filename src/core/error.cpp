#include "sidestream/core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/utf8.hpp"

namespace sidestream::core {

namespace {

// Names of users and bytes of files as a terminal and a parser of text can take them: what is no text, or controls the
// terminal, as \x1b. Lines stay lines.
std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
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
