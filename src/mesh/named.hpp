#pragma once

#include <fmt/format.h>

#include <string>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

/// What a snapshot or moment has under `name`; throws core::Error naming all it has.
template <typename Map>
const typename Map::mapped_type& find_named(const Map& map, const std::string& name, const char* noun) {
  if (const auto found = map.find(name); found != map.end()) return found->second;
  std::string known;
  for (const auto& [key, value] : map) known += (known.empty() ? "" : ", ") + key;
  throw core::Error(fmt::format("the snapshot has no {} `{}`", noun, name), "",
                    known.empty() ? "it has none" : "it has: " + known);
}

}  // namespace sidestream::mesh
