#pragma once

#include <string_view>

namespace sidestream::fft {

/// What transforms lines in this build, and its version, which changes whenever bits do: "sidestream lines 1", or FFTW.
/// Length, type and build alone say what it does with a line; nothing is planned by timing. Results name it, and a
/// restart by another one is refused.
[[gnu::visibility("default")]] extern const std::string_view engine;

}  // namespace sidestream::fft
