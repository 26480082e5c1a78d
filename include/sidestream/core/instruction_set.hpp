#pragma once

#include <string_view>

namespace sidestream::core {

#pragma GCC visibility push(default)
inline namespace kernels {

/// The instruction set that the kernels in use were compiled for: "x86-64-v2", "x86-64-v3" or "x86-64-v4", which the
/// loader of the system chooses by the processor, or what the build was told ("native").
std::string_view instruction_set();

}  // namespace kernels
#pragma GCC visibility pop

}  // namespace sidestream::core
