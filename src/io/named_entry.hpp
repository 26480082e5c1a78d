#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

/// The entry called `name` of a registry; throws core::Error naming the nearest one and all there are.
template <typename Entry>
const Entry& entry_named(std::span<const Entry> entries, std::string_view name, std::string_view kind) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  const std::string nearest = core::nearest_name(name, names);
  throw core::Error(fmt::format("there is no {} `{}`", kind, name), "",
                    nearest.empty() ? fmt::format("choose one of: {}", fmt::join(names, ", "))
                                    : fmt::format("did you mean `{}`?", nearest));
}

}  // namespace sidestream::io
