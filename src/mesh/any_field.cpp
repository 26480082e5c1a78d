#include "sidestream/mesh/any_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

namespace {

struct Described {
  std::string_view name;
  std::size_t size_bytes;
};
constexpr std::array<Described, 12> described{{{"float32", 4},
                                               {"float64", 8},
                                               {"complex64", 8},
                                               {"complex128", 16},
                                               {"int32", 4},
                                               {"int64", 8},
                                               {"int8", 1},
                                               {"int16", 2},
                                               {"uint8", 1},
                                               {"uint16", 2},
                                               {"uint32", 4},
                                               {"uint64", 8}}};

}  // namespace

std::size_t size_bytes(ElementType type) {
  return described[static_cast<std::size_t>(type)].size_bytes;
}

std::string to_string(ElementType type) {
  return std::string(described[static_cast<std::size_t>(type)].name);
}

ElementType element_type(std::string_view name) {
  const auto found = std::ranges::find(described, name, &Described::name);
  if (found == described.end()) {
    std::vector<std::string_view> names;
    for (const Described& one : described) names.emplace_back(one.name);
    throw core::Error(fmt::format("there are no elements of `{}`", name), "",
                      fmt::format("there are {}", fmt::join(names, ", ")));
  }
  return static_cast<ElementType>(found - described.begin());
}

void require_type(ElementType wanted, ElementType found) {
  if (wanted != found)
    throw core::Error(fmt::format("elements of {} are wanted, these are {}", to_string(wanted), to_string(found)));
}

}  // namespace sidestream::mesh
