#include "sidestream/core/error.hpp"

#include <fmt/format.h>

namespace sidestream::core {

namespace {

std::string full_text(const std::string& message, const std::string& where, const std::string& hint) {
  std::string text = "error: " + message;
  if (!where.empty()) text += fmt::format("\n  --> {}", where);
  if (!hint.empty()) text += fmt::format("\nhint: {}", hint);
  return text;
}

}  // namespace

Error::Error(std::string what, std::string where, std::string hint)
    : std::runtime_error(full_text(what, where, hint)),
      message_(std::move(what)),
      where_(std::move(where)),
      hint_(std::move(hint)) {}

}  // namespace sidestream::core
