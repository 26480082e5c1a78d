#include "core/utf8.hpp"

#include <algorithm>

#include "sidestream/core/input_file.hpp"

namespace sidestream::core {

std::size_t utf8_length(std::string_view text) {
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

bool is_utf8(std::string_view text) {
  for (std::size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    length = utf8_length(text);
    if (length == 0) return false;
  }
  return true;
}

std::string excerpt(const std::string& text, std::size_t at) {
  constexpr std::size_t most = 300;
  if (text.size() <= most) return text;
  const auto next_character = [&](std::size_t byte) {
    while (byte < text.size() && (static_cast<unsigned char>(text[byte]) & 0xc0) == 0x80) ++byte;
    return byte;
  };
  const std::size_t first = std::min(at > most / 2 ? at - most / 2 : 0, text.size() - most);
  const std::size_t begin = next_character(first), end = next_character(first + most);
  return (begin > 0 ? "..." : "") + text.substr(begin, end - begin) + (end < text.size() ? "..." : "");
}

}  // namespace sidestream::core
