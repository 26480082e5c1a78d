#pragma once

#include <cstdint>

#include "sidestream/core/error.hpp"
#include "sidestream/mesh/any_field.hpp"

namespace sidestream::sims {

/// Calls `f` with a null pointer of the type of the elements. Throws core::Error for complex numbers.
template <typename F>
void with_type(mesh::ElementType type, F f) {
  using enum mesh::ElementType;
  switch (type) {
    case float32:
      return f(static_cast<float*>(nullptr));
    case float64:
      return f(static_cast<double*>(nullptr));
    case int8:
      return f(static_cast<std::int8_t*>(nullptr));
    case int16:
      return f(static_cast<std::int16_t*>(nullptr));
    case int32:
      return f(static_cast<std::int32_t*>(nullptr));
    case int64:
      return f(static_cast<std::int64_t*>(nullptr));
    case uint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case uint16:
      return f(static_cast<std::uint16_t*>(nullptr));
    case uint32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case uint64:
      return f(static_cast<std::uint64_t*>(nullptr));
    case complex64:
    case complex128:
      break;
  }
  throw core::Error("a field of complex numbers", "", "give their parts as two fields");
}

}  // namespace sidestream::sims
