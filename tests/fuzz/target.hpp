#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sidestream/core/error.hpp"

/// What libFuzzer, or `replay.cpp` in its place, calls with bytes of any kind.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sidestream::fuzz {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Runs `work`, which may refuse its input by a core::Error; any other exception ends the program.
template <typename F>
int refuse_or_take(F work) noexcept {
  try {
    work();
  } catch (const core::Error&) {
  }
  return 0;
}

/// Ends the program where what has to hold does not.
inline void expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace sidestream::fuzz
