#include "sidestream/core/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sidestream::core {

Error unknown_name(const std::string& singular, std::string_view name, const std::vector<std::string>& names,
                   const std::string& where) {
  const std::string nearest = nearest_name(name, names);
  return Error(fmt::format("there is no {} `{}`", singular, name), where,
               fmt::format("{}choose one of: {}", nearest.empty() ? "" : fmt::format("did you mean `{}`? ", nearest),
                           fmt::join(names, ", ")));
}

}  // namespace sidestream::core
