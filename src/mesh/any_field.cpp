#include "sidestream/mesh/any_field.hpp"

#include <fmt/format.h>

#include <array>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

namespace {

struct Described {
  const char* name;
  std::size_t size_bytes;
};
constexpr std::array<Described, 6> described{
    {{"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}, {"int32", 4}, {"int64", 8}}};

}  // namespace

std::size_t size_bytes(ElementType type) {
  return described[static_cast<std::size_t>(type)].size_bytes;
}

std::string to_string(ElementType type) {
  return described[static_cast<std::size_t>(type)].name;
}

void require_type(ElementType wanted, ElementType found) {
  if (wanted != found)
    throw core::Error(fmt::format("elements of {} are wanted, these are {}", to_string(wanted), to_string(found)));
}

}  // namespace sidestream::mesh
