#pragma once

#include <string_view>

namespace sidestream::fft {

/// What transforms lines, and its version, which changes whenever bits do. Length, type and build alone say what it
/// does with a line; nothing is planned by timing. Results name it, and a restart by another one is refused.
inline constexpr std::string_view engine = "sidestream lines 1";

}  // namespace sidestream::fft
