#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "status.hpp"

namespace sidestream::c {

template <typename T>
T& known(T* pointer, const char* name) {
  if (pointer == nullptr) throw BadArgument(fmt::format("`{}` is NULL", name), "", "give where it lies");
  return *pointer;
}

/// A structure of a caller, whose header may be older or newer than this one. `standard`: with all members as by
/// default. `first_size`: of the structure in the first version of the interface.
template <typename Struct>
Struct taken(const Struct* given, const char* name, const char* initializer, const Struct& standard,
             std::size_t first_size = sizeof(Struct)) {
  const std::size_t size = known(given, name).size;
  if (size < first_size || size > 16 * sizeof(Struct))
    throw BadArgument(fmt::format("the `size` of a {} is {}, not {}", name, size, sizeof(Struct)), "",
                      fmt::format("begin with `{} x = {};`", name, initializer));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof(Struct) &&
      std::any_of(bytes + sizeof(Struct), bytes + size, [](unsigned char b) { return b != 0; }))
    throw BadArgument(fmt::format("a {} asks for what this library does not know yet", name),
                      fmt::format("Sidestream {}", SIDESTREAM_VERSION),
                      "take a newer library, or leave the newer members as they are by default");
  Struct own = standard;
  std::memcpy(&own, given, std::min(size, sizeof(Struct)));
  own.size = sizeof(Struct);
  return own;
}

/// Throws BadArgument unless MPI runs, and is the one that the library was built for.
void require_mpi();

}  // namespace sidestream::c
