#include "core/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/utf8.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::core {

namespace {

constexpr int most_levels = 64;

// The place behind the string or comment that begins at `at`, or `at` where none does.
std::size_t behind_text(std::string_view text, std::size_t at) {
  const char first = text[at];
  if (first == '#') return std::min(text.find('\n', at), text.size());
  if (first != '"' && first != '\'') return at;
  const std::string_view three = text.substr(at, 3);
  const bool is_long = three.size() == 3 && three[1] == first && three[2] == first;
  const std::string_view end = is_long ? three : text.substr(at, 1);
  for (std::size_t i = at + end.size(); i < text.size(); ++i) {
    if (first == '"' && text[i] == '\\')
      ++i;
    else if (text.substr(i, end.size()) == end)
      return i + end.size();
    else if (!is_long && text[i] == '\n')
      return i;
  }
  return text.size();
}

}  // namespace

void require_utf8(const std::string& text, const std::string& source) {
  std::size_t line = 1, length = 0;
  for (std::size_t i = 0; i < text.size(); i += length) {
    length = utf8_length(std::string_view(text).substr(i));
    if (length == 0)
      throw Error(
          fmt::format("this is not text in UTF-8: there is a byte {:#04x}", static_cast<unsigned char>(text[i])),
          fmt::format("{}:{}", source, line), "save the file in UTF-8");
    line += text[i] == '\n' ? 1 : 0;
  }
}

void require_shallow(const std::string& text, const std::string& source) {
  int depth = 0, dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t behind = behind_text(text, i); behind != i) {
      i = behind;
      continue;
    }
    const char c = text[i++];
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    dots = c == '.' ? dots + 1 : std::string_view("=\n,[]{}").find(c) != std::string_view::npos ? 0 : dots;
    if (depth > most_levels || dots > most_levels) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
      throw Error(fmt::format("tables or arrays lie within each other more than {} deep", most_levels),
                  fmt::format("{}:{}", source, line), "a configuration has tables of two or three levels");
    }
  }
}

}  // namespace sidestream::core
