#include "sidestream/core/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sidestream::core {

Error unknown_name(const std::string& singular, std::string_view name, const std::vector<std::string>& names,
                   const std::string& where) {
  const std::string nearest = nearest_name(name, names);
  return Error(fmt::format("there is no {} `{}`", singular, name), where,
               fmt::format("{}choose one of: {}", nearest.empty() ? "" : fmt::format("did you mean `{}`? ", nearest),
                           fmt::join(names, ", ")));
}

void require_names_once(const std::string& singular, std::vector<std::string> names) {
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    throw Error(fmt::format("there are two entries of the name `{}`", *twice),
                fmt::format("table of each {}", singular), "give one of them another name");
}

}  // namespace sidestream::core
