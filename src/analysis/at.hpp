#pragma once

#include <cstddef>
#include <cstdint>

namespace sidestream::analysis {

/// A number that is not negative as a position in a container.
inline std::size_t at(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace sidestream::analysis
