#include "io/text/json_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  constexpr int deepest = 64;
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      if (c == '\\') ++i;
      if (c == '"') is_in_string = false;
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest)
        throw core::Error(fmt::format("its JSON is nested more than {} deep", deepest), where,
                          "the file is damaged or of another kind");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return nlohmann::json::parse(text);
}

}  // namespace sidestream::io
