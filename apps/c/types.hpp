#pragma once

#include "sidestream/mesh/any_field.hpp"
#include "structures.hpp"

namespace sidestream::c {

/// Types have the same order in C.
inline mesh::ElementType type_of(sidestream_type type) {
  static_assert(SIDESTREAM_FLOAT32 == static_cast<int>(mesh::ElementType::float32) &&
                SIDESTREAM_UINT64 == static_cast<int>(mesh::ElementType::uint64));
  if (type > SIDESTREAM_UINT64)
    throw BadArgument(fmt::format("there is no sidestream_type {}", static_cast<unsigned>(type)), "",
                      "choose one of sidestream.h, such as SIDESTREAM_FLOAT64");
  return static_cast<mesh::ElementType>(type);
}

}  // namespace sidestream::c
